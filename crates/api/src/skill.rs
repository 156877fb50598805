//! Skills: directories with a `SKILL.md` that tells a model how to do something, and what they need installed.

use atoll_operation::{Declaration, Mcp, Operation, Spec, Upload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of_upload::<RegisterSkills>(),
    Declaration::of::<ListSkills>(),
    Declaration::of::<ClearSkills>(),
    Declaration::of::<DeleteSkill>(),
    Declaration::of::<GetSkillContent>(),
    Declaration::of::<InstallSkill>(),
];

/// Register the skills in a directory, or in an archive that is sent along.
///
/// A directory may hold one skill (a `SKILL.md` with a name and a description in its front matter) or several below it.
/// An archive (zip, tar or tar.gz) is unpacked beside its place and moved there when all of it is sound: one that is
/// refused changes nothing. What `requirements.txt` and `package.json` ask for is installed then; a failed installation
/// is reported and does not undo the registration. A skill registered under a name replaces the one before.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegisterSkills {
    /// Without an archive: the directory. With one: the directory to unpack beneath, which is made when missing; where
    /// skills are kept when omitted.
    #[serde(default)]
    pub path: Option<String>,
    /// With an archive: the directory below `path` it becomes; without: which of the skills in `path`. All of them, each
    /// under its own name, when omitted.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether to install what the skills need.
    #[serde(default = "yes")]
    pub install: bool,
}

fn yes() -> bool {
    true
}

/// What was registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRegistrationResult {
    /// How many skills.
    pub count: u64,
    /// The skills.
    pub registered: Vec<SkillMetadata>,
}

/// A registered skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillMetadata {
    /// Its name, which is unique.
    pub name: String,
    /// Its directory.
    pub path: String,
    /// The front matter of its `SKILL.md`.
    pub metadata: Map<String, Value>,
    /// Installations of what it needs, the latest ones; empty while none has ended.
    pub dependency_commands: Vec<DependencyCommandResult>,
}

/// An installation of what a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyCommandResult {
    /// The command.
    pub command: Vec<String>,
    /// Whether it succeeded.
    pub success: bool,
    /// What it printed, the middle left out when that is long.
    pub stdout: Option<String>,
    /// What it complained of, likewise.
    pub stderr: Option<String>,
    /// The code it ended with; none when it could not be started or was ended.
    pub exit_code: Option<i32>,
}

impl Upload for RegisterSkills {
    type Output = SkillRegistrationResult;
    const SPEC: Spec = Spec::upload("skills_register", "/v1/skills/register", "skills:write")
        .sdk("skills", "register_skills")
        .errors(&[
            "skills.nothing_given",
            "skills.directory",
            "skills.none_found",
            "skills.invalid",
            "skills.too_many",
            "skills.exists",
            "skills.files",
            "archive.format",
            "archive.unsafe",
            "archive.broken",
            "archive.too_large",
        ]);
    const FILE_REQUIRED: bool = false;
}

/// List the registered skills with what their front matter says.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListSkills {
    /// Names separated by commas, to list only these; names that are not registered are left out.
    #[serde(default)]
    pub names: Option<String>,
}

/// Registered skills.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillMetadataCollection {
    /// The skills, by name.
    pub skills: Vec<SkillMetadata>,
}

impl Operation for ListSkills {
    type Output = SkillMetadataCollection;
    const SPEC: Spec = Spec::get("skills_list", "/v1/skills/metadatas", "skills:read")
        .sdk("skills", "list_metadata")
        .mcp(Mcp::ReadOnly);
}

/// Forget every skill. Files go only where they were unpacked from an archive that was sent here.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClearSkills {}

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClearedSkills {
    /// How many skills.
    pub count: u64,
    /// Their names.
    pub names: Vec<String>,
}

impl Operation for ClearSkills {
    type Output = ClearedSkills;
    const SPEC: Spec = Spec::delete("skills_clear", "/v1/skills", "skills:write")
        .sdk("skills", "clear_skills")
        .mcp(Mcp::Destructive)
        .errors(&["skills.files"]);
}

/// Forget a skill. Its files go only if they were unpacked from an archive that was sent here, and no others with them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeleteSkill {
    /// Its name.
    pub name: String,
}

impl Operation for DeleteSkill {
    type Output = SkillMetadata;
    const SPEC: Spec = Spec::delete("skills_delete", "/v1/skills/{name}", "skills:write")
        .sdk("skills", "delete_skill")
        .mcp(Mcp::Destructive)
        .errors(&["skills.not_found", "skills.files"]);
}

/// Read what a skill teaches: its `SKILL.md` without the front matter, as it is now.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetSkillContent {
    /// Its name.
    pub name: String,
}

/// What a skill teaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillContentResult {
    /// The skill's name.
    pub name: String,
    /// Its directory, from which the text names further files.
    pub path: String,
    /// The text.
    pub content: String,
}

impl Operation for GetSkillContent {
    type Output = SkillContentResult;
    const SPEC: Spec = Spec::get("skills_content", "/v1/skills/{name}/content", "skills:read")
        .sdk("skills", "get_content")
        .mcp(Mcp::ReadOnly)
        .errors(&["skills.not_found", "skills.unreadable"]);
}

/// Install what a registered skill needs, once more or for the first time.
///
/// As a stream it tells each command (`command`), what that prints (`output`) and how it ended (`ended`), then the whole
/// answer (`completed`). A caller who leaves does not stop it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct InstallSkill {
    /// The skill's name.
    pub name: String,
}

impl Operation for InstallSkill {
    type Output = SkillMetadata;
    const SPEC: Spec = Spec::post("skills_install", "/v1/skills/{name}/install", "skills:write")
        .mcp(Mcp::Mutating)
        .errors(&["skills.not_found"])
        .streaming();
}
