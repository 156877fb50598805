"""Arguments with which tools are called when all of them are: good ones where a call should succeed, made-up ones that
fit the schema otherwise."""

from __future__ import annotations

from typing import Any, Dict

# Tools that must succeed with these arguments, in this order; files are in the workspace.
GOOD: Dict[str, Dict[str, Any]] = {
    "sandbox_execute_bash": {"cmd": "echo hello"},
    "sandbox_execute_code": {"code": "1 + 1"},
    "sandbox_file_operations": {"action": "write", "path": "a.txt", "content": "one\ntwo\n"},
    "sandbox_str_replace_editor": {"command": "view", "path": "a.txt"},
    "sandbox_get_context": {},
    "sandbox_get_packages": {"language": "python"},
    "Bash": {"command": "true"},
    "Write": {"file_path": "b.txt", "content": "alpha\nbeta\n"},
    "Read": {"file_path": "b.txt"},
    "Edit": {"file_path": "b.txt", "old_string": "alpha", "new_string": "gamma"},
    "Glob": {"pattern": "*.txt"},
    "Grep": {"pattern": "beta", "output_mode": "content"},
    "file_write": {"file": "c.txt", "content": "x\n"},
    "file_read": {"file": "c.txt"},
    "file_append": {"file": "c.txt", "content": "y\n"},
    "file_replace": {"file": "c.txt", "old_str": "x", "new_str": "z"},
    "file_search": {"file": "c.txt", "regex": "."},
    "file_edit": {"file": "c.txt", "old_string": "z", "new_string": "w"},
    "file_grep": {"path": ".", "pattern": "y"},
    "file_glob": {"path": ".", "pattern": "*"},
    "file_list": {"path": "."},
    "file_stat": {"path": "."},
    "file_mkdir": {"path": "d"},
    "file_copy": {"source": "c.txt", "destination": "d/c.txt"},
    "file_move": {"source": "d/c.txt", "destination": "d/e.txt"},
    "file_delete": {"path": "d/e.txt"},
    "file_str_replace_editor": {"command": "view", "path": "c.txt"},
    "bash_exec": {"command": "echo hi", "session_id": "t"},
    "bash_output": {"session_id": "t"},
    "bash_list_sessions": {},
    "bash_create_session": {"session_id": "u"},
    "shell_create_session": {"id": "v"},
    "shell_exec": {"id": "v", "command": "echo hi"},
    "shell_view": {"id": "v"},
    "shell_wait": {"id": "v"},
    "shell_list_sessions": {},
    "system_limits": {},
    "code_info": {},
}


def sample(schema: Dict[str, Any]) -> Any:
    """A value that fits a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "default" in schema:
        return schema["default"]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: sample(properties.get(name, {})) for name in schema.get("required", [])}
    if kind == "array":
        return [sample(schema.get("items", {}))] if schema.get("minItems") else []
    return {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": False}.get(
        kind, "about:blank"
    )
