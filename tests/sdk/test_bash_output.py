"""Reading a bash command's output: byte offsets, long polls, truncation. Nothing is lost, split or repeated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bashes import Bash
from shells import lines
from waiting import Gate, eventually

MIXED = "aé漢😀z"


def test_output_of_a_running_command_is_read_in_parts(bash: Bash, gate: Gate) -> None:
    command_id = bash.start(f"echo one; echo E1 >&2; {gate.wait}; echo two; echo E2 >&2; exit 4")
    eventually(lambda: bash.output().offset == 4 and bash.output().stderr_offset == 3, "first part")

    first = bash.output(command_id=command_id)
    assert (first.stdout, first.stderr) == ("one\n", "E1\n")
    assert (first.command.status, first.command.exit_code) == ("running", None)
    nothing = bash.output(offset=first.offset, stderr_offset=first.stderr_offset)
    assert (nothing.stdout, nothing.stderr) == ("", "")
    gate.open()
    bash.finish(command_id)
    rest = bash.output(offset=first.offset, stderr_offset=first.stderr_offset)
    assert (rest.stdout, rest.stderr) == ("two\n", "E2\n")
    assert (rest.offset, rest.stderr_offset) == (8, 6)
    assert (rest.command.status, rest.command.exit_code) == ("completed", 4)
    assert rest.command.command_id == command_id


def test_everything_can_be_read_again_after_the_end(bash: Bash) -> None:
    result = bash.run("seq 1 1000; seq 1 500 >&2")

    for _ in range(2):
        replay = bash.output(command_id=result.command_id)
        assert replay.stdout == "".join(f"{n}\n" for n in range(1, 1001))
        assert replay.stderr == "".join(f"{n}\n" for n in range(1, 501))
        assert (replay.offset, replay.stderr_offset) == (result.offset, result.stderr_offset)


def test_without_a_command_id_the_latest_is_read(bash: Bash) -> None:
    first = bash.run("echo first")
    second = bash.run("echo second")

    assert bash.output().stdout == "second\n"
    assert bash.output().command.command_id == second.command_id
    assert bash.output(command_id=first.command_id).stdout == "first\n"


def test_a_session_without_commands_has_no_output(bash: Bash) -> None:
    output = bash.output()

    assert (output.session_id, output.stdout, output.stderr) == (bash.id, "", "")
    assert (output.offset, output.stderr_offset, output.command) == (0, 0, None)


def test_a_long_poll_answers_as_soon_as_there_is_more(bash: Bash, gate: Gate) -> None:
    command_id = bash.start(f"{gate.wait}; printf more; sleep 86400")

    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(bash.output, command_id=command_id, wait=True, wait_timeout=100)
        gate.open()
        output = poll.result(timeout=90)

    assert (output.stdout, output.offset) == ("more", 4)
    assert output.command.status == "running"


def test_a_long_poll_answers_when_the_command_ends(bash: Bash, gate: Gate) -> None:
    command_id = bash.start(f"{gate.wait}; exit 9")

    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(bash.output, command_id=command_id, wait=True, wait_timeout=100)
        gate.open()
        output = poll.result(timeout=90)

    assert (output.stdout, output.command.status, output.command.exit_code) == ("", "completed", 9)
    again = bash.output(command_id=command_id, wait=True, wait_timeout=100)
    assert again.command.status == "completed"


def test_a_long_poll_ends_with_its_own_timeout(bash: Bash, gate: Gate) -> None:
    command_id = bash.start(gate.wait)

    output = bash.output(command_id=command_id, wait=True, wait_timeout=0.2)

    assert (output.stdout, output.offset, output.command.status) == ("", 0, "running")


def test_offsets_are_bytes_at_every_boundary(bash: Bash) -> None:
    result = bash.run(f"printf '{MIXED}'")
    raw = MIXED.encode()
    assert (result.stdout, result.offset) == (MIXED, len(raw))

    boundary = 0
    for character in [*MIXED, ""]:
        part = bash.output(offset=boundary)
        assert part.stdout == raw[boundary:].decode()
        assert part.offset == len(raw)
        boundary += len(character.encode())


def test_an_offset_inside_a_character_or_past_the_end_is_survived(bash: Bash) -> None:
    bash.run(f"printf '{MIXED}'")
    raw = MIXED.encode()

    for offset in range(len(raw) + 1):
        part = bash.output(offset=offset)
        assert part.offset == len(raw)
        assert part.stdout.endswith(raw[offset:].decode(errors="ignore"))
    assert bash.output(offset=len(raw) + 1000).stdout == ""


def test_a_character_in_two_writes_is_held_back_until_whole(bash: Bash, gate: Gate) -> None:
    first, second = "\\360\\237", "\\230\\200"  # the two halves of 😀
    command_id = bash.start(f"printf 'a{first}'; {gate.wait}; printf '{second}z'")
    part = eventually(lambda: bash.output() if bash.output().stdout else None, "the first byte")
    assert (part.stdout, part.offset) == ("a", 1)

    gate.open()
    bash.finish(command_id)
    rest = bash.output(offset=part.offset)
    assert (rest.stdout, rest.offset) == ("😀z", 6)


def test_bytes_that_are_no_text_are_counted_exactly(bash: Bash) -> None:
    result = bash.run("printf 'A\\377\\000B\\303'")

    assert result.offset == 5
    assert result.stdout.startswith("A\ufffd")
    assert "B" in result.stdout
    assert bash.output(offset=3).stdout.startswith("B")


def test_a_reader_by_parts_gets_every_byte_once(bash: Bash) -> None:
    command_id = bash.start('for i in {1..3000}; do echo "żółw $i 漢字 😀"; done')
    text, offset = "", 0
    while True:
        part = bash.output(command_id=command_id, offset=offset, wait=True, wait_timeout=30)
        assert part.offset == offset + len(part.stdout.encode())
        text, offset = text + part.stdout, part.offset
        if part.command.status != "running" and not part.stdout:
            break

    assert text == "".join(f"żółw {n} 漢字 😀\n" for n in range(1, 3001))


def test_long_output_is_cut_in_the_middle_and_kept_in_a_file(bash: Bash) -> None:
    whole = lines(*[str(number) for number in range(1, 20_001)])

    result = bash.run("seq 1 20000; echo short >&2")

    assert len(result.stdout) <= 50_200
    assert result.stdout.startswith("1\n2\n3\n")
    assert result.stdout.endswith("\n19999\n20000\n")
    assert result.offset == len(whole)
    assert Path(result.stdout_full_output_file_path).read_text() == whole
    assert result.stderr == "short\n"
    assert result.stderr_full_output_file_path is None
    assert bash.output(command_id=result.command_id).stdout == whole


def test_the_cap_counts_characters_of_each_stream(bash: Bash) -> None:
    text = "漢" * 100

    exact = bash.run(f"printf '{text}'; printf '{text}x' >&2", max_output_length=100)

    assert exact.stdout == text
    assert exact.stdout_full_output_file_path is None
    assert exact.stderr != f"{text}x"
    assert exact.stderr.startswith("漢") and exact.stderr.endswith("x")
    assert Path(exact.stderr_full_output_file_path).read_text() == f"{text}x"
    assert (exact.offset, exact.stderr_offset) == (300, 301)


def test_a_cap_of_zero_is_no_cap(bash: Bash) -> None:
    result = bash.run("seq 1 100000", max_output_length=0)

    assert result.stdout == "".join(f"{n}\n" for n in range(1, 100_001))
    assert result.stdout_full_output_file_path is None


def test_what_a_background_job_prints_later_is_read_by_offset(bash: Bash, gate: Gate) -> None:
    result = bash.run(f"({gate.wait}; echo printed later) & echo hi")
    assert (result.status, result.stdout, result.exit_code) == ("completed", "hi\n", 0)

    gate.open()
    later = eventually(
        lambda: bash.output(command_id=result.command_id, offset=result.offset).stdout,
        "the background job's output is readable",
    )
    assert later == "printed later\n"
