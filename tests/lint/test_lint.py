"""Every check passes on the tree and fails on a planted violation."""
import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import lint  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# Assembled here, so that this file does not mention them.
OUTSIDE = ("/" + "work/", "../" + "shared")


@pytest.fixture
def tree(tmp_path):
    """A small tree with one good file in base."""
    (tmp_path / "docs/internals").mkdir(parents=True)
    shutil.copy(ROOT / lint.ARROWS, tmp_path / lint.ARROWS)
    shutil.copy(ROOT / ".clang-format", tmp_path)
    for folder in ("agent", "base", "sip", "media/analysis", "control/server/api"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "base" / "good.c").write_text(
        '#include "base/good.h"\n\nint good(void)\n{\n\treturn 1;\n}\n')
    return tmp_path


def findings(check, *args):
    return list(check(*args))


@pytest.mark.parametrize("folder, include", [
    ("base", "media/media.h"),
    ("base", "conf/load.h"),
    ("sip", "media/media.h"),
    ("sip", "control/wire/job.h"),
    ("media/analysis", "media/media.h"),
    ("control/server/api", "sip/ua.h"),
    ("control/server", "agent/engine/engine.h"),
    ("agent", "sip/dialog/dialog.h"),
])
def test_a_planted_include_is_found(tree, folder, include):
    (tree / folder / "bad.c").write_text(f'\n#include "{include}"\n')
    assert findings(lint.include_arrows, tree) == [
        f"{folder}/bad.c:2: {lint.row_of(lint.arrow_table(tree), folder)} "
        f"must not include {include}"]


def test_allowed_includes_are_not_found(tree):
    (tree / "sip" / "ua.c").write_text(
        '#include "sip/ua.h"\n#include "base/log.h"\n#include "media/params.h"\n')
    assert findings(lint.include_arrows, tree) == []


def test_an_include_beside_the_file_is_found(tree):
    (tree / "sip" / "near.h").write_text("")
    (tree / "sip" / "far.c").write_text('#include "near.h"\n')
    assert findings(lint.include_arrows, tree) == [
        'sip/far.c:1: "near.h" is no path from the root']


def test_an_internal_header_of_another_folder_is_found(tree):
    (tree / "sip" / "far.c").write_text(
        '#include "sip/far_internal.h"\n#include "sip/baresip/internal.h"\n')
    assert findings(lint.internal_headers, tree) == [
        "sip/far.c:2: sip/baresip/internal.h is of another folder"]


def test_files_are_short():
    assert findings(lint.long_files, ROOT) == []


def test_a_long_file_is_found(tree):
    (tree / "base" / "long.c").write_text("\n" * 801)
    assert findings(lint.long_files, tree) == ["base/long.c: 801 lines, at most 800"]


def test_functions_are_short():
    assert findings(lint.long_functions, ROOT) == []


def test_a_long_function_is_found(tree):
    (tree / "base" / "long.c").write_text(
        "int f(int a,\n      int b)\n{\n" + "\ta++;\n" * 81 + "}\n")
    assert findings(lint.long_functions, tree) == [
        "base/long.c:3: a function of 81 lines, at most 80"]


def test_nothing_refers_outside_the_checkout():
    assert findings(lint.outside_references, ROOT, OUTSIDE) == []


def test_a_reference_outside_is_found(tree):
    (tree / "docs" / "x.md").write_text(f"see {OUTSIDE[1]}/design.md\n")
    assert findings(lint.outside_references, tree, OUTSIDE) == [
        f"docs/x.md:1: mentions {OUTSIDE[1]}"]


def test_shell_scripts_parse():
    assert findings(lint.shell_scripts, ROOT) == []


def test_a_broken_script_is_found(tree):
    (tree / "run").write_text("#!/usr/bin/env bash\nif true\n")
    assert len(findings(lint.shell_scripts, tree)) == 1


def test_every_test_is_run():
    assert findings(lint.forgotten_tests, ROOT) == []


def test_a_forgotten_test_is_found(tree):
    folder = tree / "tests/e2e"
    folder.mkdir(parents=True)
    (folder / "meson.build").write_text("foreach name : ['call', 'yaml-' + 'read']\n")
    for name in ("test_call.py", "test-yaml-read.c", "test_recall.py", "party.py"):
        (folder / name).write_text("")
    assert findings(lint.forgotten_tests, tree) == ["tests/e2e/test_recall.py: no meson.build names it"]


@pytest.fixture(scope="session")
def exported():
    build = Path(os.environ.get("OFFHOOK_BUILD", ROOT / "build"))
    names = lint.exported_names(*(build / f"offhook{part}" for part in ("", "-agent", "-controller")))
    assert {"sip_alloc", "sqlite3_open_v2", "MHD_queue_response"} <= set(names)
    # including the libraries of the other release: a name that is free in this release
    # may be in use there
    return {**lint.listed_names(Path(__file__).parent / "libre-2.0.1.txt", "libre.so, 2.0.1"),
            **names}


def test_no_function_is_called_as_one_of_a_library(exported):
    assert findings(lint.library_names, ROOT, exported) == []


def test_a_name_of_a_library_is_found(tree, exported):
    (tree / "sip" / "bad.c").write_text(
        "int own(int a,\n\tint b)\n{\n\treturn a;\n}\n\n"
        "static struct sip *sip_alloc(void)\n{\n\treturn fd_close(sip_alloc());\n}\n")
    found, = findings(lint.library_names, tree, exported)
    assert found.startswith("sip/bad.c: sip_alloc() is one of libre.so")


def test_a_name_of_the_other_release_is_found(tree, exported):
    (tree / "sip" / "bad.c").write_text("int udp_open(int a)\n{\n\treturn a;\n}\n")
    found, = findings(lint.library_names, tree, exported)
    assert found.startswith("sip/bad.c: udp_open() is one of libre.so")


# Another version of clang-format breaks lines differently. Debian 13 has no package of
# this one.
format_14 = pytest.mark.skipif(
    lint.clang_format_version() != 14,
    reason=f"clang-format is {lint.clang_format_version()}; the project's is 14")


@format_14
def test_code_is_formatted():
    assert findings(lint.formatting, ROOT) == []


@format_14
def test_unformatted_code_is_found(tree):
    assert findings(lint.formatting, tree) == []
    (tree / "base" / "bad.c").write_text("int bad( void ) { return 1; }\n")
    assert len(findings(lint.formatting, tree)) >= 1


def test_timers_are_ours():
    assert findings(lint.library_timers, ROOT) == []


def test_a_timer_of_the_library_is_found(tree):
    (tree / "sip" / "late.c").write_text("struct tmr t;\n\ttmr_start(&t, 1, f, NULL);\n\tmono_timer_start(&t);\n")
    assert findings(lint.library_timers, tree) == [
        "sip/late.c:1: struct tmr: use sip/mono_timer.h", "sip/late.c:2: tmr_start(: use sip/mono_timer.h"]


def test_links_between_pages_lead_somewhere():
    assert findings(lint.dead_links, ROOT) == []


def test_a_dead_link_is_found(tree):
    for name, up in (("x.md", "internals/"), ("internals/y.md", ""), ("guide/z.md", "../internals/")):
        (tree / "docs" / name).parent.mkdir(exist_ok=True)
        (tree / "docs" / name).write_text(
            f"[a]({up}architecture.md) [b]({up}gone.md) [c](http://x/)\n")
        assert f"docs/{name}: there is no {up}gone.md" in findings(lint.dead_links, tree)
        assert not any(f"{name}: there is no {up}architecture" in f
                       for f in findings(lint.dead_links, tree))


def test_the_index_links_to_every_page():
    assert findings(lint.pages_without_entry, ROOT) == []


def test_files_that_pages_name_are_there():
    assert findings(lint.unknown_files, ROOT) == []


def test_a_file_that_is_not_there_is_found(tree):
    (tree / "docs/x.md").write_text("`base/good.c` `base/gone.c` `base/NAME.c` `tests/gone.py::test_x`\n")
    assert [f for f in findings(lint.unknown_files, tree) if "x.md" in f] == [
        "docs/x.md:1: there is no file base/gone.c", "docs/x.md:1: there is no file tests/gone.py"]


def test_a_page_without_entry_is_found(tree):
    (tree / "docs/README.md").write_text("[there](internals/architecture.md)\n")
    assert findings(lint.pages_without_entry, tree) == []
    (tree / "docs/guide").mkdir()
    (tree / "docs/guide/new.md").write_text("x\n")
    assert findings(lint.pages_without_entry, tree) == [
        "docs/README.md: has no link to guide/new.md"]


def test_pages_that_comments_name_are_there():
    assert findings(lint.unknown_pages, ROOT) == []


def test_a_page_that_is_not_there_is_found(tree):
    (tree / "base" / "clock.h").write_text("/* docs/internals/architecture.md, plans.md section 3 */\n")
    assert findings(lint.unknown_pages, tree) == ["base/clock.h:1: there is no page plans.md"]


@pytest.fixture
def pages(tmp_path):
    """The pages with tables of what the code accepts, with that code."""
    for name in ("control/server/run/step_params.c", "control/server/run/step_describe.c",
                 "control/server/judge/type_rtp.c", "docs/reference/actions.md",
                 "docs/reference/conditions.md",
                 "control/wire/client_actions.c",
                 "docs/reference/parameters.md", "docs/reference/script-actions.md",
                 "docs/reference/tap.md", "agent/options.c",
                 "control/cli/measure/tap.c", "control/server/main.c", "man/offhook.1",
                 "man/offhook-agent.8", "man/offhook-controller.8"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def changed(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_parameters_are_told_as_they_are():
    assert findings(lint.parameter_pages, ROOT) == []
    assert len(list(lint.code_parameters(ROOT))) > 60


def test_a_parameter_that_is_told_otherwise_is_found(pages):
    changed(pages / "control/server/run/step_params.c",
            '.fallback = "20"', '.fallback = "30"')
    text = ("ms of a packet, 10 to 120, rounded down to the codec's step; the peer's `ptime` takes "
            "precedence | Audio")
    assert findings(lint.parameter_pages, pages) == [
        f"docs/reference/parameters.md: has no row for ptime | answer call stream | integer | 30 | {text}",
        "docs/reference/parameters.md: control/server/run/step_params.c has no "
        f"ptime | answer call stream | integer | 20 | {text}"]


def test_client_actions_are_told():
    assert findings(lint.client_action_pages, ROOT) == []


def test_a_client_action_that_is_not_told_is_found(pages):
    changed(pages / "control/wire/client_actions.c", '{"mute", ', '{"dance", ')
    assert findings(lint.client_action_pages, pages) == [
        "docs/reference/script-actions.md: does not tell dance",
        "docs/reference/script-actions.md: there is no mute"]


def test_actions_are_told():
    assert findings(lint.action_pages, ROOT) == []


def test_an_action_that_is_told_otherwise_is_found(pages):
    changed(pages / "control/server/run/step_describe.c", '"places calls"', '"makes calls"')
    assert findings(lint.action_pages, pages) == [
        "docs/reference/actions.md: tells call as ('places calls', 'all calls are over'), "
        "the API as ('makes calls', 'all calls are over')"]


def test_condition_types_are_told():
    assert findings(lint.condition_pages, ROOT) == []


def test_a_condition_type_that_is_told_otherwise_is_found(pages):
    changed(pages / "control/server/judge/type_rtp.c", "a statistic of all", "the mean of all")
    found = findings(lint.condition_pages, pages)
    assert any(f.startswith("docs/reference/conditions.md: tells rtp-advanced-conditions as "
                            "a statistic of all samples") for f in found)


def test_states_are_told():
    assert findings(lint.state_pages, ROOT) == []


def test_a_state_that_is_not_told_is_found(pages):
    for name in ("base/state.h", "docs/glossary.md"):
        (pages / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, pages / name)
    changed(pages / "base/state.h", "X(CALL_RTCP) ", "X(CALL_RTCQ) ")
    assert findings(lint.state_pages, pages) == [
        "docs/glossary.md: does not tell the state CALL_RTCQ",
        "docs/glossary.md: there is no state CALL_RTCP"]


def test_configuration_is_told_as_it_is():
    assert findings(lint.configuration_page, ROOT) == []


def test_a_key_that_is_told_otherwise_is_found(pages):
    for name in ("conf/offhook-agent.conf", "conf/offhook-controller.conf",
                 "docs/reference/configuration.md"):
        (pages / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, pages / name)
    changed(pages / "conf/offhook-agent.conf", "#capacity = 4", "#capacity = 5")
    changed(pages / "conf/offhook-controller.conf", "#offer_s = 30", "#offers_s = 30")
    assert findings(lint.configuration_page, pages) == [
        "docs/reference/configuration.md: offer_s of offhook-controller.conf is unknown, not 30",
        "docs/reference/configuration.md: offers_s of offhook-controller.conf is 30, not absent",
        "docs/reference/configuration.md: capacity of offhook-agent.conf is 5, not 4"]


def test_options_are_told_as_they_are():
    assert findings(lint.option_pages, ROOT) == []


def test_an_option_that_is_told_otherwise_is_found(pages):
    for page in (pages / "docs").rglob("*.md"):
        page.write_text("\n")
    (pages / "man/offhook.1").write_text("offhook tap \\-\\-interface eth0\n")
    found = findings(lint.option_pages, pages)
    assert "man/offhook.1: does not tell --promiscuous" in found
    assert not any("--interface" in f for f in found)
    (pages / "docs/reference/tap.md").write_text("Run `offhook tap --promiscuos` | grep --count x\n")
    assert [f for f in findings(lint.option_pages, pages) if f.startswith("docs")] == [
        "docs/reference/tap.md:1: there is no option --promiscuos"]
