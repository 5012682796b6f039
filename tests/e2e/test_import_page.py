"""The page that makes a test of a captured call, in a real browser."""
import base64
import os
from types import SimpleNamespace

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from bench import Bench
from browser import chromium, looked_at
from call_pcap import call, packet, pcap, CALLEE, CALLER
from capture import Capture
from importer import WIDE, Answering, Importer
from ports import PortBlock
from test_login import PASSWORD, serious
from test_pages import Page

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")

SCRIPT = '[["assert_established",""],["wait","200"],["dtmf","12#"],["wait","1400"],["hangup",""]]'
ORIGINALS = ("4402002", "4401001", "4402003", "erika", "mustermann", "127.0.0.1")


class Lab(Importer):
    """A controller with an agent, and a capture of two calls: one that is answered, one that is refused."""

    def __init__(self, folder, build, ports):
        super().__init__(folder, build, None)
        self.ports = ports
        with Capture(folder, (ports.base, ports.base + 199)) as captured:
            with self.answer("4402002"):
                self.call("4402002", "--caller-id", "Erika Mustermann", "--codec", "PCMA", "--actions", SCRIPT)
            with self.answer("4402003", "--actions", '[["reject","486"]]'):
                self.call("4402003", status=1)
        self.file = captured.file

    def answer(self, user, *options):
        low = self.ports.rtp[0] + 20
        return Answering(self, user, self.ports.sip, (low, low + 9), *options)

    def call(self, user, *options, status=0):
        done = self.offhook("call", f"sip:{user}@127.0.0.1:{self.ports.sip}", "--user", "4401001", "--duration", "5",
                            "--rtp-ports", f"{self.ports.rtp[0]}-{self.ports.rtp[0] + 9}", *options)
        assert done.returncode == status, done.stdout + done.stderr


@pytest.fixture(scope="module")
def lab(tmp_path_factory, build):
    ports = PortBlock()
    lab = Lab(tmp_path_factory.mktemp("page"), build, ports)
    first = ports.rtp[0] + 40
    with Bench(lab.folder, ports, proxy=False, agent_conf={"rtp_min": first, "rtp_max": first + 19}) as bench:
        lab.bench, lab.c = bench, bench.controller
        lab.c.api("POST", "/users", {"name": "wil", "rights": "write", "password": PASSWORD})
        lab.c.api("POST", "/users", {"name": "rea", "rights": "read", "password": PASSWORD})
        yield lab
    ports.close()


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


DROP = """const [bytes, target] = arguments, data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], 'call.pcap'));
  for (const type of ['dragover', 'drop']) target.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));"""


class ImportPage(Page):
    def choose(self, file):
        """Give a file to the page, which reads it."""
        self.find("#form [name=content]").send_keys(str(file))

    def write(self, name, content):
        path = self.lab.folder / name
        path.write_bytes(content)
        return path

    def field(self, name):
        return self.find(f"#make [name={name}]")

    def pick(self, number):
        self.wait(lambda: self.all(f"#calls [value='{number}']"))
        self.find(f"#calls [value='{number}']").click()
        self.wait(lambda: self.find("#test").is_displayed() and f"call {number}" in self.find("#test-title").text)

    def tick(self, name):
        """Tick a box; the test is drawn again."""
        self.driver.execute_script("document.getElementById('changed').textContent = ''")
        self.field(name).click()
        self.wait(lambda: self.find("#changed").get_attribute("textContent"))

    def shown(self):
        """All that the page shows of the test, its fields included."""
        return self.driver.execute_script("""const box = document.getElementById('test');
          return box.innerText + [...box.querySelectorAll('input')].map((n) => `${n.value} ${n.placeholder}`).join(' ')
            + [...box.querySelectorAll('#make [name=credential_pool] option')][0].textContent""").lower()

    def wrong(self, name):
        """What is said at a field; the browser logs the answer of the API."""
        self.wait(lambda: self.all(f"[name={name}][aria-invalid=true]"))
        field = self.find(f"[name={name}][aria-invalid=true]")
        serious(self.driver)
        return self.find(f"#{field.get_attribute('aria-describedby')}").text

    def created(self):
        self.find("#create").click()
        self.wait(lambda: "/edit" in self.driver.current_url)
        return int(self.driver.current_url.split("/edit")[0].split("/")[-1])


@pytest.fixture
def page(driver, lab):
    driver.get("about:blank")
    serious(driver)  # forgets what an earlier test provoked
    page = ImportPage(driver, SimpleNamespace(c=lab.c, folder=lab.folder, file=lab.file)).sign_in("wil")
    page.open("/tests/import")
    return page


def widened(lab, number):
    """A busy machine gets other limits of times and quality than the capture."""
    test = lab.c.api("GET", f"/tests/{number}")["test"]
    for conditions in test["conditions"]:
        for condition in conditions["conditions"]:
            limit = WIDE.get(conditions["condition_type"].removeprefix("caller-"))
            condition["value"] = limit or condition["value"]
    lab.c.api("PUT", f"/tests/{number}", test)


def test_a_captured_call_becomes_a_test_that_passes(page, lab):
    page.choose(lab.file)
    page.wait(lambda: page.rows("calls"))
    first, second = page.rows("calls")
    assert "4401001" in first and "4402002" in first and "established, ended by the caller" in first
    assert "4402003" in second and "refused with 486" in second
    assert not page.find("#test").is_displayed()
    page.pick(1)
    steps, conditions = page.find("#steps").text, page.find("#conditions").text
    for part in ("4402002", "PCMA", "Hang up"):
        assert part in steps, steps
    assert "12#" in steps and "Post-dial delay" in conditions and "MOS" in conditions
    notes = page.texts("#notes li")
    assert any("no registration" in note for note in notes)
    assert page.field("target").get_attribute("placeholder") == f"sip:127.0.0.1:{lab.ports.sip};transport=udp"
    assert not page.find("#expected").is_displayed()
    page.field("name").clear()
    page.field("name").send_keys("As captured")
    number = page.created()
    page.wait(lambda: page.find("h1").text == "As captured")
    widened(lab, number)
    with lab.answer("4402002") as callee:
        run = lab.bench.wait(lab.c.api("POST", f"/tests/{number}/run", {})["data"]["session_id"])
    assert run["status"] == "passed", run
    for state in ("CALL_DTMF_1", "CALL_DTMF_2", "CALL_DTMF_POUND"):
        assert state in callee.said, callee.said


def test_an_anonymised_test_has_nothing_of_the_original(page, lab):
    page.choose(lab.file)
    page.pick(1)
    assert "4402002" in page.shown()
    page.tick("anonymise")
    assert "anonymised" in page.find("#notes").text
    for word in ORIGINALS:
        assert word not in page.shown(), word
    page.field("name").clear()
    page.field("name").send_keys("Without names")
    number = page.created()
    test = lab.c.api("GET", f"/tests/{number}")["test"]
    action = test["steps"][0][-1]
    stored = [test, lab.c.api("GET", f"/targets/{action['target_pool']}"),
              lab.c.api("GET", f"/credential-pools/{action['credential_pool']}")]
    for word in ORIGINALS:
        assert word not in str(stored).lower(), word


def test_records_that_are_there_are_used(page, lab):
    page.choose(lab.file)
    page.pick(2)
    assert page.find("#expected").is_displayed() and "No condition" in page.find("#conditions").text
    page.tick("expect_failure")
    assert "486" in page.find("#conditions").text
    before = [lab.c.api("GET", f"/{kind}")["total"] for kind in ("targets", "credential-pools")]
    Select(page.field("target_pool")).select_by_value(str(lab.bench.target_id))
    Select(page.field("credential_pool")).select_by_value(str(lab.bench.callers))
    page.wait(lambda: not page.find("#address").is_displayed() and not page.find("#secret").is_displayed())
    page.field("name").clear()
    page.field("name").send_keys("Refused again")
    action, = lab.c.api("GET", f"/tests/{page.created()}")["test"]["steps"][0]
    assert (action["target_pool"], action["credential_pool"]) == (lab.bench.target_id, lab.bench.callers)
    assert [lab.c.api("GET", f"/{kind}")["total"] for kind in ("targets", "credential-pools")] == before


def test_what_is_wrong_stands_at_its_field(page, lab):
    page.choose(page.write("no-capture.pcap", b"GIF89a, and so on"))
    assert "pcap or pcapng" in page.wrong("content")
    page.choose(page.write("no-call.pcap", pcap([(0, packet(CALLER, CALLEE, b"\x80\x00" + bytes(170), 4000, 4002))])))
    page.wait(lambda: "no SIP call" in page.find("#failure").text)
    assert "signalling" in page.wrong("content") and not page.find("#found").is_displayed()
    page.choose(page.write("damaged.pcap", pcap(call(more='Authorization: Digest username="1001", realm="x"\r\n')) + b"\x01" * 16))
    page.wait(lambda: "damaged" in page.find("#found-note").text)
    page.wait(lambda: page.find("#test").is_displayed())
    assert page.field("password").get_attribute("required")
    page.field("target").send_keys("nowhere" + Keys.TAB)
    assert "no SIP URI" in page.wrong("target")
    page.field("target").clear()
    page.field("target").send_keys("sip:pbx.example.test;transport=tcp" + Keys.TAB)
    page.wait(lambda: not page.all("#make .wrong"))
    # the answer sets the name, as long as nobody has typed one
    page.wait(lambda: page.field("target").get_attribute("placeholder") == "sip:pbx.example.test;transport=tcp")
    page.field("name").clear()
    page.field("name").send_keys("As captured")
    lab.c.api("POST", "/targets", {"name": "Target of As captured too", "hosts": [{"host": "192.0.2.1"}]})
    page.field("name").send_keys(" too")
    page.field("password").send_keys("secret")
    before = [lab.c.api("GET", f"/{kind}")["total"] for kind in ("targets", "credential-pools", "tests")]
    page.find("#create").click()
    assert "choose another" in page.wrong("name")
    assert [lab.c.api("GET", f"/{kind}")["total"] for kind in ("targets", "credential-pools", "tests")] == before
    page.field("name").clear()
    page.field("name").send_keys("With a password")
    action = lab.c.api("GET", f"/tests/{page.created()}")["test"]["steps"][0][-1]
    target = lab.c.api("GET", f"/targets/{action['target_pool']}")["target"]
    assert [(h["host"], h["transport"]) for h in target["hosts"]] == [("pbx.example.test", "tcp")]
    account, = lab.c.api("GET", f"/credential-pools/{action['credential_pool']}")["credential_pool"]["credentials"]
    assert account["has_password"]


def test_what_was_typed_last_is_made(page, lab, driver):
    """The test is made while the controller still answers what it would be with the target before."""
    page.choose(lab.file)
    page.pick(1)
    page.field("name").clear()
    page.field("name").send_keys("Typed last")
    if page.field("password").is_displayed():
        page.field("password").send_keys("secret")
    driver.execute_script("const real = fetch; window.fetch = (...of) => new Promise((r) => setTimeout(r, 1000)).then(() => real(...of))")
    page.field("target").send_keys("sip:last.example.test;transport=tcp")
    action = lab.c.api("GET", f"/tests/{page.created()}")["test"]["steps"][0][-1]
    target = lab.c.api("GET", f"/targets/{action['target_pool']}")["target"]
    assert [(h["host"], h["transport"]) for h in target["hosts"]] == [("last.example.test", "tcp")]


@pytest.mark.looks
def test_it_is_used_by_keyboard_and_seen_at_each_width(page, lab, driver):
    page.choose(lab.file)
    page.wait(lambda: driver.switch_to.active_element.get_attribute("id") == "found-title")
    ActionChains(driver).send_keys(Keys.TAB).perform()
    radio = driver.switch_to.active_element
    assert radio.get_attribute("aria-label") == "Call 1, 4401001 to 4402002, established, ended by the caller"
    ActionChains(driver).send_keys(Keys.SPACE).perform()
    page.wait(lambda: page.find("#test-title").text == "Test of call 1")
    assert "test of call 1 is shown" in page.find("#changed").get_attribute("textContent").lower()
    ActionChains(driver).send_keys(Keys.ARROW_DOWN).perform()
    page.wait(lambda: page.find("#test-title").text == "Test of call 2")
    assert driver.switch_to.active_element.get_attribute("value") == "2"
    looked_at(driver, "import")


def test_a_file_is_dropped(page, driver):
    driver.execute_script(DROP, base64.b64encode(pcap(call(1) + call(2, 10, peer="1003"))).decode(), page.find("#drop"))
    page.wait(lambda: len(page.rows("calls")) == 2)
    assert "over" not in page.find("#drop").get_attribute("class").split()


def test_ways_to_the_page(page, lab):
    page.open("/projects")
    way, = [a for a in page.all("#records a") if a.text == "Import a capture"]
    way.click()
    page.wait(lambda: page.find("body").get_attribute("data-drawn") == "done" and page.all("#form [name=project_id]"))
    assert Select(page.find("#form [name=project_id]")).first_selected_option.text == "project"
    page.open("/tests")
    assert [a.get_attribute("href").split("/", 3)[3] for a in page.all("#tools a") if a.text == "Import a capture"] == ["tests/import"]
    page.sign_in("rea")
    page.open("/tests")
    assert [a.text for a in page.find("#tools").find_elements(By.TAG_NAME, "a")] == ["Run a scenario"]
