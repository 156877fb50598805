use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::skill::{
    ClearSkills, DeleteSkill, GetSkillContent, ListSkills, RegisterSkills, SkillRegistrationResult,
};
use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Handle, Incoming, Kind, Registry};
use atoll_process::Spawner;
use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{SkillSettings, Skills};
use crate::{Environment, Foundation, Programs};

struct Fixture {
    skills: Arc<Skills>,
    registry: Registry,
    cx: Context,
    place: tempfile::TempDir,
}

impl Fixture {
    fn with(limits: Limits) -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().to_owned();
        let environment = Environment::build(std::iter::empty(), &path, &path, "someone", &[]);
        let foundation = Foundation {
            home: path.clone(),
            workspace: path.clone(),
            runtime_dir: path,
            environment: Arc::new(environment),
            limits: Arc::new(limits),
            version: "test",
            stop: CancellationToken::new(),
        };
        // These tests start no programs.
        let spawner = Spawner::launch_program(Path::new("/bin/true")).unwrap();
        let programs = Programs::new(foundation, spawner);
        let skills = Skills::new(&programs, SkillSettings::default());
        let mut registry = Registry::default();
        registry.bind_upload::<RegisterSkills, _>(&skills);
        Self { skills, registry, cx: Context::new("test"), place }
    }

    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn put_skill(&self, directory: &str, name: &str) {
        self.put(&format!("{directory}/SKILL.md"), &skill(name));
    }

    async fn register(
        &self,
        input: Value,
        archive: Option<Vec<u8>>,
    ) -> Result<SkillRegistrationResult, Error> {
        let file = archive.map(|bytes| {
            let bytes = futures::stream::iter([Ok(Bytes::from(bytes))]).boxed();
            Incoming::new(Some("some.zip".to_owned()), bytes)
        });
        let all = Box::pin(std::future::ready(Ok(input.clone())));
        let bound = self.registry.get("skills_register").unwrap();
        let answer = bound.receive(self.cx.clone(), input, all, file).await?;
        Ok(serde_json::from_value(answer).unwrap())
    }

    async fn names(&self) -> Vec<String> {
        let list = self.skills.handle(&self.cx, ListSkills::default()).await.unwrap();
        list.skills.into_iter().map(|skill| skill.name).collect()
    }

    async fn delete(&self, name: &str) -> Result<(), Error> {
        let input = DeleteSkill { name: name.to_owned() };
        self.skills.handle(&self.cx, input).await.map(|_| ())
    }

    /// Every file there is, by its path.
    fn all(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.place.path().to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    waiting.push(path.clone());
                }
                found.push(path);
            }
        }
        found.sort();
        found
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: does {name}\n---\n# {name}\n")
}

/// A tar archive, whose names are not checked on the way in.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, text) in files {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        let size = format!("{:011o}\0", text.len());
        header[124..136].copy_from_slice(size.as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.write_all(&header).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

#[tokio::test]
async fn a_directory_is_registered_where_it_is_and_left_there() {
    let fixture = Fixture::new();
    fixture.put_skill("mine/a", "alpha");
    fixture.put_skill("mine/b", "beta");
    let result = fixture.register(json!({"path": "mine"}), None).await.unwrap();
    assert_eq!(result.count, 2);
    assert_eq!(fixture.names().await, ["alpha", "beta"]);
    let input = GetSkillContent { name: "alpha".to_owned() };
    let content = fixture.skills.handle(&fixture.cx, input).await.unwrap();
    assert_eq!(content.content, "# alpha\n");
    assert!(content.path.ends_with("mine/a"));

    fixture.delete("alpha").await.unwrap();
    assert!(fixture.path("mine/a/SKILL.md").exists());
    let cleared = fixture.skills.handle(&fixture.cx, ClearSkills {}).await.unwrap();
    assert_eq!(cleared.names, ["beta"]);
    assert!(fixture.path("mine/b/SKILL.md").exists());
    assert_eq!(fixture.delete("alpha").await.unwrap_err().code(), "skills.not_found");
}

#[tokio::test]
async fn one_of_several_can_be_chosen() {
    let fixture = Fixture::new();
    fixture.put_skill("mine/a", "alpha");
    fixture.put_skill("mine/b", "beta");
    for (name, expected) in [("a", "alpha"), ("beta", "beta")] {
        let input = json!({"path": "mine", "name": name});
        let result = fixture.register(input, None).await.unwrap();
        assert_eq!(result.registered[0].name, expected);
    }
    let own = json!({"path": "mine/a", "name": "alpha"});
    assert_eq!(fixture.register(own, None).await.unwrap().count, 1);
    let error = fixture.register(json!({"path": "mine", "name": "c"}), None).await.unwrap_err();
    assert_eq!(error.code(), "skills.none_found");
    assert!(error.message().contains("alpha, beta"), "{error}");
}

#[tokio::test]
async fn an_archive_is_unpacked_replaced_and_taken_away() {
    let fixture = Fixture::new();
    let first = archive(&[("pdf/SKILL.md", &skill("pdf")), ("pdf/old.txt", "old")]);
    let result = fixture.register(json!({"path": "s"}), Some(first)).await.unwrap();
    assert_eq!(result.registered[0].path, fixture.path("s/pdf").to_str().unwrap());
    let second = archive(&[("SKILL.md", &skill("pdf")), ("new.txt", "new")]);
    fixture.register(json!({"path": "s"}), Some(second.clone())).await.unwrap();
    assert!(fixture.path("s/pdf/new.txt").exists() && !fixture.path("s/pdf/old.txt").exists());

    // Another place: what was unpacked at the first one goes.
    let other = json!({"path": "s", "name": "other"});
    fixture.register(other, Some(second.clone())).await.unwrap();
    assert!(fixture.path("s/other/SKILL.md").exists() && !fixture.path("s/pdf").exists());

    std::fs::write(fixture.path("s/other/mine.txt"), "mine").unwrap();
    let other = json!({"path": "s", "name": "other"});
    let error = fixture.register(other, Some(second)).await.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("skills.exists", Kind::Conflict));
    assert!(error.message().contains("mine.txt"), "{error}");
    fixture.delete("pdf").await.unwrap();
    let left = fixture.all();
    assert_eq!(
        left,
        [fixture.path("s"), fixture.path("s/other"), fixture.path("s/other/mine.txt")]
    );
}

#[tokio::test]
async fn several_skills_come_in_one_archive() {
    let fixture = Fixture::new();
    let set = archive(&[
        ("a/SKILL.md", &skill("alpha")),
        ("b/SKILL.md", &skill("beta")),
        ("shared/x.py", ""),
    ]);
    let result = fixture.register(json!({}), Some(set)).await.unwrap();
    assert_eq!(result.count, 2);
    let paths: Vec<_> = result.registered.iter().map(|skill| PathBuf::from(&skill.path)).collect();
    assert_eq!(paths, [fixture.path("skills/some/a"), fixture.path("skills/some/b")]);
    assert!(fixture.path("skills/some/shared/x.py").exists());
    fixture.skills.handle(&fixture.cx, ClearSkills {}).await.unwrap();
    assert_eq!(fixture.all(), [fixture.path("skills")]);
}

#[tokio::test]
async fn what_is_refused_changes_nothing() {
    let fixture = Fixture::with(Limits {
        skill_archive_bytes: 20_000,
        skill_archive_entries: 5,
        skills: 1,
        ..Limits::default()
    });
    fixture.put_skill("theirs/taken", "taken");
    fixture.put("mixed/good/SKILL.md", &skill("good"));
    fixture.put("mixed/bad/SKILL.md", "no front matter");
    std::fs::create_dir(fixture.path("empty")).unwrap();
    let before = fixture.all();
    let good = skill("good");
    let two = [("a/SKILL.md", skill("a")), ("b/SKILL.md", skill("b"))];
    let two: Vec<_> = two.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let large = "x".repeat(30_000);
    let cases: Vec<(Value, Option<Vec<u8>>, &str, &str)> = vec![
        (json!({}), None, "skills.nothing_given", "path"),
        (json!({"path": ""}), None, "skills.nothing_given", "path"),
        (json!({"path": "nowhere"}), None, "skills.directory", "nowhere"),
        (json!({"path": "theirs/taken/SKILL.md"}), None, "skills.directory", "SKILL.md"),
        (json!({"path": "empty"}), None, "skills.none_found", "empty"),
        (json!({"path": "mixed"}), None, "skills.invalid", "bad/SKILL.md"),
        (json!({"path": "new"}), Some(b"no archive".to_vec()), "archive.format", "archive"),
        (json!({"path": "new"}), Some(Vec::new()), "archive.format", "archive"),
        (json!({"path": "new"}), Some(archive(&[("x.txt", "")])), "skills.none_found", "archive"),
        (
            json!({"path": "new"}),
            Some(archive(&[("a/SKILL.md", "---\nname: [\n---\n")])),
            "skills.invalid",
            "a/SKILL.md",
        ),
        (
            json!({"path": "new"}),
            Some(archive(&[("../x/SKILL.md", &good)])),
            "archive.unsafe",
            "..",
        ),
        (json!({"path": "new"}), Some(archive(&[("/x/SKILL.md", &good)])), "archive.unsafe", "/x"),
        (json!({"path": "new"}), Some(archive(&[("a", &large)])), "archive.too_large", "large"),
        (json!({"path": "new"}), Some(archive(&[("a", "")].repeat(6))), "archive.", "arch"),
        (json!({"path": "new"}), Some(archive(&two)), "skills.too_many", "ATOLL_LIMIT_SKILLS"),
        (
            json!({"path": "theirs", "name": "taken"}),
            Some(archive(&[("SKILL.md", &good)])),
            "skills.exists",
            "taken",
        ),
        (
            json!({"path": "new", "name": "../out"}),
            Some(archive(&[("SKILL.md", &good)])),
            "input.invalid",
            "../out",
        ),
    ];
    for (input, sent, code, word) in cases {
        let error = fixture.register(input.clone(), sent).await.unwrap_err();
        assert!(error.code().starts_with(code), "{input} gave {error:?}");
        assert!(error.message().contains(word), "{input} gave {error}");
        assert!((400..500).contains(&error.kind().http_status()), "{error:?}");
        assert_eq!(fixture.all(), before, "{input}");
        assert!(fixture.names().await.is_empty());
    }
}

#[tokio::test]
async fn the_same_name_registered_at_once_by_many_is_one_skill() {
    let fixture = Arc::new(Fixture::new());
    let together = (0..8).map(|number| {
        let fixture = Arc::clone(&fixture);
        async move {
            let text = format!("{}{number}", skill("same"));
            let sent = archive(&[("SKILL.md", &text), ("number", &number.to_string())]);
            fixture.register(json!({"path": "s"}), Some(sent)).await.unwrap();
        }
    });
    futures::future::join_all(together).await;
    assert_eq!(fixture.names().await, ["same"]);
    let number = std::fs::read_to_string(fixture.path("s/same/number")).unwrap();
    let text = std::fs::read_to_string(fixture.path("s/same/SKILL.md")).unwrap();
    assert!(text.ends_with(&number), "of two archives: {number} {text}");
    let hidden =
        fixture.all().into_iter().filter(|path| path.to_str().unwrap().contains(".atoll-skills"));
    assert_eq!(hidden.count(), 0);
}
