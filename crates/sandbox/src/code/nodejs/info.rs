//! What there is of Node.js.

use std::sync::Arc;

use atoll_api::nodejs::{GetNodeInfo, NodeInfo};
use atoll_api::system::Package;
use atoll_node::{Installation, PackageRoots, packages_in};
use atoll_operation::{Context, Error, Handle};

use super::error::UNAVAILABLE;
use super::service::Nodes;

impl Handle<GetNodeInfo> for Nodes {
    async fn handle(&self, _cx: &Context, _input: GetNodeInfo) -> Result<NodeInfo, Error> {
        let Ok(default) = self.installation(None).await else {
            return Ok(nothing());
        };
        let all = self.installations.all().await;
        let environment = self.programs.environment(None);
        let workspace = self.programs.foundation().workspace.clone();
        let roots = PackageRoots::of(&default.program, &environment);
        let read = tokio::task::spawn_blocking(move || {
            let runtime = packages(&workspace.join("node_modules"));
            let global = packages(&roots.global);
            (workspace, runtime, global, roots.npm_version(), roots.global)
        });
        let (workspace, runtime_packages, global_packages, npm, global) =
            read.await.map_err(|error| Error::internal("the packages could not be read", error))?;
        Ok(NodeInfo {
            node_version: default.version.to_string(),
            npm_version: npm.unwrap_or_default(),
            supported_languages: languages(&all),
            description: description(&default, &all),
            runtime_directory: Some(workspace.display().to_string()),
            global_npm_directory: Some(global.display().to_string()),
            runtime_packages,
            global_packages,
            error: None,
            available_versions: names(&all),
            current_version: Some(default.version.name()),
        })
    }
}

fn packages(root: &std::path::Path) -> Vec<Package> {
    let found = packages_in(root).into_iter();
    found.map(|package| Package { name: package.name, version: package.version }).collect()
}

/// The name of each major version once, the oldest first.
fn names(all: &[Arc<Installation>]) -> Vec<String> {
    let mut majors: Vec<_> = all.iter().map(|each| each.version).collect();
    majors.sort_unstable();
    let mut names: Vec<_> = majors.into_iter().map(atoll_node::Version::name).collect();
    names.dedup();
    names
}

fn languages(all: &[Arc<Installation>]) -> Vec<String> {
    let typescript = all.iter().any(|each| each.typescript).then_some("typescript");
    std::iter::once("javascript").chain(typescript).map(str::to_owned).collect()
}

fn description(default: &Installation, all: &[Arc<Installation>]) -> String {
    let versions: Vec<_> = all.iter().map(|each| each.version.to_string()).collect();
    format!(
        "Runs JavaScript with Node.js {} from {}, once or in sessions that keep their state. Installed: {}.",
        default.version,
        default.program.display(),
        versions.join(", ")
    )
}

/// The answer when there is none: the reason and the cure.
fn nothing() -> NodeInfo {
    NodeInfo {
        node_version: String::new(),
        npm_version: String::new(),
        supported_languages: Vec::new(),
        description: "Node.js is not installed.".to_owned(),
        runtime_directory: None,
        global_npm_directory: None,
        runtime_packages: Vec::new(),
        global_packages: Vec::new(),
        error: Some(UNAVAILABLE.to_owned()),
        available_versions: Vec::new(),
        current_version: None,
    }
}
