"""The editor of a test in a real browser."""
import json
import os
import subprocess

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import chromium, looked_at
from controller import Controller
from test_api_project_runs import Lab, TIMES
from test_login import PASSWORD, serious, set_password
from test_pages import MARKUP, Page

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")

SHOWN_RECORD = ("id", "created_at", "updated_at", "parameters", "testcase_name", "project_name",
                "agentpool_name")


@pytest.fixture(scope="module")
def lab():
    c = Controller(**TIMES)
    for name, rights in (("wil", "write"), ("rea", "read")):
        assert set_password(c, name, PASSWORD, "--rights", rights).returncode == 0
    with c:
        lab = Lab(c)
        lab.phones = lab.make("credential-pools", name="Phones", credentials=[
            {"username": "1001", "password": "x"}, {"username": "1002", "password": "x"}])
        lab.make("credential-pools", name="Others", credentials=[
            {"username": "1003", "password": "x"}])
        lab.own = lab.make("projects", name="Branch office")
        yield lab


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


# In one call: to ask each button for its name takes a second on this page.
NAMED = """return [...document.querySelectorAll(arguments[0])].find((b) =>
  b.ariaLabel === arguments[1] || (b.checkVisibility() && b.innerText.trim() === arguments[1]))"""


class Editor(Page):
    def open(self, path):
        self.leave()
        super().open(path)
        return self

    def leave(self):
        """Nothing that is unsaved asks before the next page."""
        self.driver.execute_script(
            "window.addEventListener('beforeunload', (e) => e.stopImmediatePropagation(), true)")
        self.driver.get("about:blank")

    def named(self, name, within="main"):
        """The button of this accessible name."""
        found = []

        def is_there():
            found[:] = [self.driver.execute_script(
                NAMED, f"{within} button, dialog button", name)]
            return found[0]
        self.wait(is_there)
        return found[0]

    def do(self, name, within="main"):
        button = self.named(name, within)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def general_open(self):
        for fold in self.all("#general:not([open]), #general .fold:not([open])"):
            fold.find_element(By.TAG_NAME, "summary").click()

    def general(self, **values):
        for key, value in values.items():
            self.put(self.find(f"#general-fields [data-key={key}]"), value)

    def param(self, **values):
        for key, value in values.items():
            field = self.find(f"#side [data-key={key}]")
            for fold in field.find_elements(By.XPATH, "ancestor::details[not(@open)]"):
                fold.find_element(By.TAG_NAME, "summary").click()
            self.put(field, value)

    @staticmethod
    def put(field, value):
        node = field.find_element(By.CSS_SELECTOR, "input, select, textarea")
        if node.tag_name == "select":
            Select(node).select_by_visible_text(value)
        else:
            node.clear()
            node.send_keys(value)

    def action(self, role, step, key):
        self.do(f"Add an action of {role} to step {step}")
        self.wait(lambda: self.all(f"dialog [data-key={key}]"))
        self.find(f"dialog [data-key={key}]").click()
        self.wait(lambda: not self.all("dialog") and self.all("#side h2"))

    def condition(self, role, key, **values):
        self.do("Add condition")
        self.wait(lambda: self.all(f"dialog [data-key={key}]"))
        Select(self.find("dialog select")).select_by_visible_text(role)
        self.find(f"dialog [data-key={key}]").click()
        self.wait(lambda: not self.all("dialog"))
        row = self.all("#conditions .word")[-1]
        for name, value in values.items():
            self.put(row.find_element(By.CSS_SELECTOR, f"[data-key={name}]"), value)
        return row

    def tool(self, name):
        """A button beside the heading, which the bar covers after scrolling."""
        self.driver.execute_script("window.scrollTo(0, 0)")
        self.find(f"#{name}").click()

    def save(self):
        self.tool("save")

    def saved(self):
        self.driver.execute_script("document.querySelectorAll('.toast').forEach((n) => n.remove())")
        self.save()
        self.wait(lambda: self.all(".toast") and "/edit" in self.driver.current_url)
        number = int(self.driver.current_url.split("/edit")[0].split("/")[-1])
        return self.lab.c.api("GET", f"/tests/{number}")["test"]


@pytest.fixture
def page(driver, lab):
    editor = Editor(driver, lab)
    editor.driver.get("about:blank")
    serious(driver)  # forgets what an earlier test provoked
    return editor.sign_in("wil")


def made(lab, **more):
    lab.count += 1
    return lab.make("tests", **{
        "name": f"made {lab.count}", "project_id": lab.own, "agentpool_id": lab.pool,
        "steps": [
            [{"type": "register", "role": "callee", "credential_pool": lab.phones,
              "target_pool": lab.target},
             {"type": "answer", "role": "callee", "ptime": 40, "answer_delay": 1700}],
            [{"type": "call", "role": "caller", "credential_pool": lab.phones,
              "target_pool": lab.target, "call_duration": 3, "ptime": 30,
              "audio_codecs": ["PCMA", "opus"],
              "custom_headers": [["X-Test", "1", "invites"]],
              "sipclient_actions": [["assert_established", ""], ["dtmf", "123#"],
                                    ["hangup", ""]]}]],
        "conditions": [
            {"role": "caller", "condition_type": "caller-mos-conditions",
             "conditions": [{"type": "ge", "value": "4.0"}], "options": []},
            {"role": "caller", "condition_type": "caller-sipclient-state-conditions",
             "conditions": [{"type": "has", "state": "CALL_RINGING"},
                            {"type": "has", "state": "CALL_ESTABLISHED"}],
             "options": ["strict_order"]}], **more})


def shown(test):
    return {k: v for k, v in test.items() if k not in SHOWN_RECORD}


def test_a_test_is_made_from_nothing(page, lab):
    page.open("/tests/new")
    page.general(name="IVR", project_id="Branch office", tags="ivr, smoke")
    page.action("callee", 1, "register")
    page.param(credential_pool=f"Phones ({lab.phones})", target_pool=f"t ({lab.target})")
    page.action("callee", 1, "answer")
    page.param(answer_delay="1700", early_media="yes")
    page.do("Add step")
    page.action("caller", 2, "call")
    page.param(credential_pool=f"Phones ({lab.phones})", target_pool=f"t ({lab.target})",
               dial_destination="{{callee.username}}", max_total_calls="3",
               calls_per_second="0.5", call_duration="uniform:2,4")
    page.condition("caller", "mos-conditions", value="3.5")
    page.condition("caller", "sip-conditions", field="header", header="X-Test", type="is",
                   value="1")
    assert "Call 1. " not in page.find("#sentence").text
    test = page.saved()
    assert test["steps"] == [
        [{"type": "register", "role": "callee", "credential_pool": lab.phones,
          "target_pool": lab.target},
         {"type": "answer", "role": "callee", "answer_delay": 1700, "early_media": True}],
        [{"type": "call", "role": "caller", "credential_pool": lab.phones,
          "target_pool": lab.target, "dial_destination": "{{callee.username}}",
          "max_total_calls": 3, "calls_per_second": 0.5, "call_duration": "uniform:2,4"}]]
    assert test["conditions"] == [
        {"role": "caller", "condition_type": "caller-mos-conditions",
         "conditions": [{"type": "ge", "value": "3.5"}]},
        {"role": "caller", "condition_type": "caller-sip-conditions",
         "conditions": [{"field": "header", "header": "X-Test", "type": "is", "value": "1"}]}]
    assert (test["name"], test["project_id"], test["agentpool_id"], json.loads(test["tags"])) == (
        "IVR", lab.own, lab.pool, ["ivr", "smoke"])
    assert page.find("h1").text == "IVR" and serious(page.driver) == []
    assert page.find("#crumbs a[href$='/tests/%d']" % test["id"]).text == "IVR"
    assert page.find("#nav [aria-current]").text == "Tests"
    page.open(f"/tests/{test['id']}/edit")
    page.saved()
    assert shown(lab.c.api("GET", f"/tests/{test['id']}")["test"]) == shown(test)


def test_what_the_form_does_not_know_survives(page, lab):
    """The page gets descriptions without ptime and without conditions on MOS."""
    number = made(lab)
    before = lab.c.api("GET", f"/tests/{number}")["test"]
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const real = window.fetch;
        window.fetch = async (path, ...rest) => {
          const answer = await real(path, ...rest);
          if (!String(path).endsWith('/descriptions')) return answer;
          const found = await answer.json();
          const d = found.descriptions;
          for (const a of d.actions) a.parameters = a.parameters.filter((p) => p.key !== 'ptime');
          d.conditions = d.conditions.filter((c) => c.key !== 'mos-conditions');
          d.script_actions = d.script_actions.filter((s) => s.key !== 'dtmf');
          return new Response(JSON.stringify(found), { status: 200, headers: answer.headers });
        };"""})
    try:
        page.open(f"/tests/{number}/edit")
        assert any("caller-mos-conditions" in t for t in page.texts("#conditions .word"))
        page.all("#lanes .act")[2].click()
        page.wait(lambda: page.all("#side h2"))
        assert "ptime" in page.find("#side").text
        page.param(call_duration="5")
        page.general_open()
        page.general(description="changed")
        page.saved()
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    expected = shown(before)
    expected["steps"][1][0]["call_duration"] = "5"
    expected["description"] = "changed"
    assert shown(lab.c.api("GET", f"/tests/{number}")["test"]) == expected


def focused(page):
    return page.driver.switch_to.active_element


def test_an_error_is_shown_at_its_field(page, lab):
    number = made(lab)
    before = lab.c.api("GET", f"/tests/{number}")["test"]
    page.open(f"/tests/{number}/edit")
    page.all("#lanes .act")[2].click()
    page.param(call_duration="uniform:20,15")
    row = page.all("#conditions .word")[0]
    page.put(row.find_element(By.CSS_SELECTOR, "[data-key=value]"), "9")
    page.do("Close")
    page.save()
    page.wait(lambda: page.all("#side [aria-invalid]"))
    assert "422" in serious(page.driver)[0]["message"]
    assert "2 problems" in page.find("#banner").text
    wrong = page.find("#side [data-key=call_duration] .wrong")
    assert wrong.text and wrong.is_displayed()
    assert focused(page).get_attribute("aria-describedby") == wrong.get_attribute("id")
    assert focused(page).get_attribute("value") == "uniform:20,15"
    assert "1 problem: Length of a call" in page.all("#lanes .act")[2].text
    assert "1 problem" in page.find("#side .fold b").text
    value = page.find("#conditions [data-key=value]")
    assert "1 to 5" in value.find_element(By.CSS_SELECTOR, ".wrong").text
    assert lab.c.api("GET", f"/tests/{number}")["test"] == before
    page.param(call_duration="uniform:15,20")
    assert "1 problem." in page.find("#banner").text
    page.put(value, "3")
    page.wait(lambda: not page.find("#banner").is_displayed())
    assert page.saved()["steps"][1][0]["call_duration"] == "uniform:15,20"


def test_an_empty_step_is_said_to_be_wrong(page, lab):
    page.open("/tests/new")
    page.general(project_id="Branch office")
    page.save()
    page.wait(lambda: page.find("#banner").is_displayed())
    assert "422" in serious(page.driver)[0]["message"]
    assert page.all("#general-fields [data-key=name] .wrong")
    assert focused(page).get_attribute("aria-invalid") == "true"
    assert "Step 1: must be an array" in page.find("#lanes .wrong").text


def order(page):
    return [t.split("\n")[0] for t in page.texts("#lanes .act .name b")]


def test_actions_and_steps_are_moved_with_the_keyboard(page, lab):
    number = made(lab)
    page.open(f"/tests/{number}/edit")
    assert order(page) == ["Register", "Answer", "Call"]
    page.all("#lanes .act")[1].send_keys(Keys.ALT, Keys.ARROW_UP)
    assert order(page) == ["Answer", "Register", "Call"]
    assert "Answer" in focused(page).text
    focused(page).send_keys(Keys.ALT, Keys.ARROW_DOWN)
    focused(page).send_keys(Keys.ALT, Keys.ARROW_DOWN)  # into the next step
    page.named("Move step 2 up").send_keys(Keys.ENTER)
    assert focused(page).get_attribute("aria-label") == "Move step 1 down"
    page.do("Add step")
    page.named("Move step 3 up").send_keys(Keys.ENTER)
    page.do("Remove step 2")
    page.do("Move condition 3 up")
    test = page.saved()
    assert [[(a["role"], a["type"]) for a in s] for s in test["steps"]] == [
        [("caller", "call"), ("callee", "answer")], [("callee", "register")]]
    assert [c["state"] for c in test["conditions"][1]["conditions"]] == [
        "CALL_ESTABLISHED", "CALL_RINGING"]
    page.all("#lanes .act")[1].click()
    page.do("Remove action")
    page.do("Remove condition 1")
    test = page.saved()
    assert [[a["type"] for a in s] for s in test["steps"]] == [["call"], ["register"]]
    assert len(test["conditions"]) == 1 and serious(page.driver) == []


def test_lists_and_scripts(page, lab):
    number = made(lab)
    page.open(f"/tests/{number}/edit")
    page.all("#lanes .act")[2].click()
    page.param(dial_destination="7000")
    page.do("Move Codecs 2 up")
    page.do("Remove header field 1")
    page.do("Add to What each call does")
    row = page.all("#side [data-key=sipclient_actions] .row")[3]
    Select(row.find_element(By.TAG_NAME, "select")).select_by_visible_text("Wait")
    row = page.all("#side [data-key=sipclient_actions] .row")[3]
    row.find_element(By.TAG_NAME, "input").send_keys("9000")
    page.do("Move line 4 up")
    assert "Wait 9000 ms" in page.all("#lanes .act")[2].text
    call = page.saved()["steps"][1][0]
    assert call["audio_codecs"] == ["opus", "PCMA"] and "custom_headers" not in call
    assert call["sipclient_actions"] == [["assert_established", ""], ["dtmf", "123#"],
                                         ["wait", "9000"], ["hangup", ""]]


def test_texts_stay_texts(page, lab):
    number = made(lab, name=MARKUP, description=MARKUP, tags=["<b>tag</b>"])
    test = shown(lab.c.api("GET", f"/tests/{number}")["test"])
    test["steps"][1][0].update(dial_destination=MARKUP, custom_headers=[[
        "X-Test", MARKUP, "invites"]], sipclient_actions=[["message", MARKUP]])
    test["conditions"] = [{"role": "caller", "condition_type": "caller-sip-conditions",
                           "conditions": [{"field": "message", "type": "has", "value": MARKUP}]}]
    lab.c.api("PUT", f"/tests/{number}", test)
    pool = lab.make("credential-pools", name=MARKUP, credentials=[
        {"username": "1", "password": "x"}])
    test["steps"][0][0]["credential_pool"] = pool
    lab.c.api("PUT", f"/tests/{number}", test)
    page.open(f"/tests/{number}/edit")
    page.general_open()
    for card in (0, 2):
        page.all("#lanes .act")[card].click()
        assert MARKUP in page.all("#lanes .act")[card].text
    assert page.find("h1").text == MARKUP and MARKUP in page.find("#sentence").text
    page.general(description="changed")
    kept = page.saved()
    assert kept["steps"][1][0]["dial_destination"] == MARKUP
    assert page.all("main img") == [] and page.driver.title != "owned"
    assert serious(page.driver) == []


def test_somebody_else_has_saved(page, lab):
    number = made(lab)
    page.open(f"/tests/{number}/edit")
    page.general_open()
    page.general(name=f"mine {number}")
    test = shown(lab.c.api("GET", f"/tests/{number}")["test"])
    lab.c.api("PUT", f"/tests/{number}", {**test, "description": "theirs"})
    page.save()
    page.wait(lambda: "Somebody else" in page.find("#banner").text)
    assert "412" in serious(page.driver)[0]["message"]
    assert lab.c.api("GET", f"/tests/{number}")["test"]["description"] == "theirs"
    page.do("Load theirs, drop mine")
    page.wait(lambda: page.find("#general-fields [data-key=description] textarea").get_attribute(
        "value") == "theirs")
    page.general(name=f"mine {number}")
    lab.c.api("PUT", f"/tests/{number}", {**test, "description": "again"})
    page.save()
    page.do("Save mine over it")
    page.wait(lambda: lab.c.api("GET", f"/tests/{number}")["test"]["description"] == "theirs")
    assert lab.c.api("GET", f"/tests/{number}")["test"]["name"] == f"mine {number}"


# A PUT waits until window.go() is called.
HELD = """
    const real = window.fetch;
    window.fetch = async (path, options, ...rest) => {
      if (options && options.method === 'PUT') await new Promise((go) => { window.go = go; });
      return real(path, options, ...rest);
    };"""


def save_by_keys(page, number, typed=""):
    """Press Ctrl S, type while the save waits. @return the test as it is then stored, as a text"""
    page.driver.execute_script("document.querySelectorAll('.toast').forEach((n) => n.remove()); window.go = null;")
    focused(page).send_keys(Keys.CONTROL, "s")
    page.wait(lambda: page.driver.execute_script("return Boolean(window.go)"))
    focused(page).send_keys(typed)
    page.driver.execute_script("window.go();")
    page.wait(lambda: page.all(".toast"))
    return json.dumps(shown(page.lab.c.api("GET", f"/tests/{number}")["test"]))


@pytest.mark.parametrize("field", ["#side [data-key=call_duration] input", "#general-fields [data-key=name] input",
                                   "#conditions .word:nth-of-type(1) [data-key=value] input"])
def test_what_is_typed_during_a_save_stays(page, lab, field):
    """The focus stays in its field, too, so that Ctrl S can be pressed while typing."""
    number = made(lab)
    page.open(f"/tests/{number}/edit")
    page.general_open()
    page.all("#lanes .act")[2].click()
    page.driver.execute_script(HELD)
    node = page.find(field)
    before = node.get_attribute("value")
    node.send_keys(Keys.END, "1")
    assert f'"{before}1"' in save_by_keys(page, number, "2")
    assert focused(page) == node and node.get_attribute("value") == f"{before}12" and not leaves(page)
    assert f'"{before}12"' in save_by_keys(page, number) and leaves(page)
    again = focused(page)
    assert again != node and again.get_attribute("value") == f"{before}12"
    again.send_keys("3")
    assert again.get_attribute("value") == f"{before}123" and serious(page.driver) == []


def test_json_that_is_typed_during_a_save_stays(page, lab):
    number = made(lab)
    page.open(f"/tests/{number}/edit#json")
    page.driver.execute_script(HELD)
    page.find("#json").send_keys(Keys.CONTROL, Keys.END)
    record = shown(lab.c.api("GET", f"/tests/{number}")["test"])
    assert json.loads(save_by_keys(page, number, "{")) == record
    assert page.find("#json").get_attribute("value").endswith("{") and not leaves(page)
    page.leave()


def test_a_text_is_copied_with_its_lines(page, lab):
    """Also without the clipboard of a secure context, and where the browser refuses."""
    page.open(f"/tests/{made(lab)}/edit#json")
    page.driver.execute_script("""
        Object.defineProperty(navigator, 'clipboard', { value: undefined });
        document.execCommand = () => { window.copied = document.activeElement.value; return !window.refused; };""")
    for view in ("json", "yaml"):
        page.tool(f"view-{view}")
        page.driver.execute_script("document.querySelectorAll('.toast').forEach((n) => n.remove())")
        page.find(f"#copy-{view}").click()
        page.wait(lambda: page.all(".toast"))
        assert page.find(".toast").text == "The test was copied."
        shows = page.driver.execute_script(
            "const n = document.getElementById(arguments[0]); return n.value || n.textContent", view)
        assert page.driver.execute_script("return window.copied") == shows and shows.count("\n") > 5
    assert focused(page).get_attribute("id") == "copy-yaml"
    page.driver.execute_script("window.refused = true; document.querySelectorAll('.toast').forEach((n) => n.remove())")
    page.find("#copy-yaml").click()
    page.wait(lambda: page.all(".toast"))
    assert "Select the text and press Ctrl C." in page.find(".toast").text and serious(page.driver) == []


def leaves(page):
    """False: the browser would ask. WebDriver answers the question itself, so it is not put."""
    return page.driver.execute_script(
        "return window.dispatchEvent(new Event('beforeunload', { cancelable: true }))")


def test_unsaved_changes_are_asked_about(page, lab):
    page.open(f"/tests/{made(lab)}/edit")
    assert leaves(page)
    page.general_open()
    page.find("#general-fields textarea").send_keys("x")
    assert not leaves(page)
    page.saved()
    assert leaves(page)


@pytest.mark.looks
def test_it_is_seen_and_named(page, lab):
    page.open("/tests/new")
    looked_at(page.driver, "editor-new")
    page.open(f"/tests/{made(lab, name='IVR with transfer')}/edit")
    page.all("#lanes .act")[2].click()
    looked_at(page.driver, "editor")


def test_a_reader_gets_no_editor(driver, lab):
    page = Editor(driver, lab)
    page.driver.get("about:blank")
    page.sign_in("rea")
    for path in ("/tests/new", f"/tests/{made(lab)}/edit"):
        page.driver.get(lab.c.witness().url + path)
        assert page.all("#lanes") == []


def test_a_copy_is_saved_beside_the_first(page, lab):
    number = made(lab, callback_secret="not readable", callback_url="")
    before = lab.c.api("GET", f"/tests/{number}")["test"]
    page.open(f"/tests/new?copy={number}")
    assert page.find("h1").text == f"{before['name']} (copy)" and not leaves(page)
    copy = page.saved()
    assert copy["id"] != number and copy["has_callback_secret"] == 0
    assert shown(copy) == {**shown(before), "name": f"{before['name']} (copy)",
                           "has_callback_secret": 0}
    assert lab.c.api("GET", f"/tests/{number}")["test"] == before


def test_a_test_is_saved_and_run(page, lab):
    number = made(lab)
    page.open(f"/tests/{number}/edit")
    page.all("#lanes .act")[2].click()
    page.param(call_duration="4")
    page.find("#side [data-key=call_duration] input").send_keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: "/run/details/" in page.driver.current_url)
    run = lab.c.api("GET", "/runs?count=1")["runs"][0]
    assert page.driver.current_url.endswith(run["session_id"]) and run["test_id"] == number
    assert lab.c.api("GET", f"/tests/{number}")["test"]["steps"][1][0]["call_duration"] == "4"
    lab.c.api("POST", f"/runs/{run['id']}/stop")


def text(page):
    return json.loads(page.find("#json").get_attribute("value"))


def put_text(page, record):
    page.driver.execute_script(
        "const a = document.getElementById('json'); a.value = arguments[0];"
        "a.dispatchEvent(new Event('input', { bubbles: true }));",
        record if isinstance(record, str) else json.dumps(record, indent=2))


@pytest.mark.looks
def test_the_same_test_as_json(page, lab):
    number = made(lab)
    before = lab.c.api("GET", f"/tests/{number}")["test"]
    page.open(f"/tests/{number}/edit")
    page.tool("view-json")
    record = text(page)
    assert record == {**shown(before), "tags": json.loads(before["tags"])}
    put_text(page, '{\n "name": "x",\n "steps": [,]}')
    assert "Line 3 is no JSON" in page.find("#json-problems").text
    page.save()
    page.tool("view-form")
    assert page.find("#json").is_displayed() and not leaves(page)
    put_text(page, {**record, "steps": "none"})
    page.tool("view-form")
    assert "a list of lists of actions" in page.find("#json-problems").text
    record["steps"][1][0]["call_duration"] = "uniform:20,15"
    put_text(page, record)
    page.save()
    page.wait(lambda: page.find("#banner").is_displayed())
    assert "422" in serious(page.driver)[0]["message"]
    begin, end = page.driver.execute_script(
        "const a = document.getElementById('json'); return [a.selectionStart, a.selectionEnd]")
    assert "uniform:20,15" in page.find("#json").get_attribute("value")[begin:end]
    assert "steps/1/0/call_duration: " in page.find("#json-problems").text
    looked_at(page.driver, "editor-json")
    page.tool("view-form")
    page.do("Show it")
    assert focused(page).get_attribute("value") == "uniform:20,15"
    page.param(call_duration="7")
    page.tool("view-json")
    assert text(page)["steps"][1][0]["call_duration"] == "7"
    test = page.saved()
    assert test["steps"][1][0]["call_duration"] == "7" and serious(page.driver) == []
    assert page.driver.current_url.endswith("#json") and leaves(page)
    page.open(f"/tests/{number}/edit#json")
    assert page.find("#json").is_displayed() and not page.find("#form-view").is_displayed()


def test_a_scenario_is_saved_as_a_test(page, lab):
    """The only target is chosen already; of two pools of accounts none is."""
    page.open("/scenarios")
    page.press("Single call")
    page.wait(lambda: page.find("#one").get_attribute("data-scenario") == "single-call")
    page.find("#more-box summary").click()
    page.fill(agentpool_id=f"pool ({lab.pool})", project_id=f"Branch office ({lab.own})")
    page.press("Save as test")
    page.wait(lambda: page.driver.current_url.endswith(
        f"/tests/new?scenario=single-call&agentpool_id={lab.pool}&project_id={lab.own}"))
    page.wait(lambda: page.find("body").get_attribute("data-drawn") == "done")
    assert page.find("h1").text == "Single call" and not leaves(page)
    assert "Not chosen yet" in page.find("#lanes").text
    while lacking := page.all("#lanes .act .lacks"):
        lacking[0].click()
        page.param(credential_pool=f"Phones ({lab.phones})")
    test = page.saved()
    draft = lab.c.api("GET", "/scenarios/single-call/test")["test"]
    assert test["conditions"] == draft["conditions"] and test["scenario"] == "single-call"
    registers = [a for s in test["steps"] for a in s if a["type"] == "register"]
    assert registers == [{"type": "register", "role": r, "credential_pool": lab.phones,
                          "target_pool": lab.target} for r in ("callee", "caller")]
    assert (test["project_id"], test["agentpool_id"]) == (lab.own, lab.pool)
    assert serious(page.driver) == []


def test_what_a_start_lacks_is_shown_at_its_field(page, lab):
    page.open("/tests/new")
    page.general(name="lacking", project_id="Branch office")
    page.action("caller", 1, "message")
    page.param(message="x", dial_destination="sip:1@192.0.2.1")
    page.tool("save-run")
    page.wait(lambda: "saved, but not started" in page.find("#banner").text)
    assert "422" in serious(page.driver)[0]["message"]
    assert page.all("#side [data-key=target_pool] .wrong") and leaves(page)
    page.param(target_pool=f"t ({lab.target})")
    page.saved()


@pytest.mark.looks
def test_the_yaml_is_what_apply_reads(page, lab, build, tmp_path):
    """The test is as the file says: apply finds no difference. Then the file makes another one."""
    number = made(lab, name="No: 1", tags=["yes", "10", "a, b"], retries_on_failure=2,
                  description=f"two\nlines: {MARKUP}", callback_secret="x" * 16)
    page.open(f"/tests/{number}/edit")
    page.tool("view-yaml")
    written = page.find("#yaml").text
    assert "project: Branch office" in written and "credential_pool: Phones" in written
    assert "name: \"No: 1\"" in written and "NO_1_CALLBACK_SECRET" in written
    looked_at(page.driver, "editor-yaml")

    def apply(text, *more):
        file = tmp_path / "test.yaml"
        file.write_text(text)
        return subprocess.run(
            [build / "offhook", "apply", "-f", file, *more], text=True, capture_output=True,
            timeout=90, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, "OFFHOOK_URL": lab.c.witness().url, "ANOTHER_CALLBACK_SECRET": "y",
                 "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])})

    same = apply(written, "--dry-run")
    assert same.returncode == 0, same.stdout + same.stderr
    page.tool("view-form")
    page.general_open()
    page.general(name="Another")
    page.tool("view-yaml")
    other = apply(page.find("#yaml").text)
    assert other.returncode == 0, other.stdout + other.stderr
    second, = [t for t in lab.c.api("GET", "/tests?count=1000")["tests"] if t["name"] == "Another"]
    expected = {**shown(lab.c.api("GET", f"/tests/{number}")["test"]), "name": "Another"}
    assert shown(lab.c.api("GET", f"/tests/{second['id']}")["test"]) == expected
    page.save()  # the name is taken by now
    page.wait(lambda: page.find("#form-view").is_displayed() and page.all("#banner p"))
    assert "409" in serious(page.driver)[0]["message"]
