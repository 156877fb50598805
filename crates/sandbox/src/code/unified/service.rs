//! The languages and what runs each of them.

use std::path::PathBuf;
use std::sync::Arc;

use atoll_kernel::{Catalogue, KernelSpec};
use atoll_node::Installation;
use atoll_operation::{Error, Kind};

use super::interpreter::{self, Interpreter};
use super::language::canonical;
use crate::code::jupyter::Jupyters;
use crate::code::nodejs::Nodes;
use crate::programs::Programs;

/// Running code in any language. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Codes {
    pub(super) programs: Programs,
    pub(super) jupyters: Arc<Jupyters>,
    pub(super) nodes: Arc<Nodes>,
    pub(super) catalogue: Arc<Catalogue>,
}

/// What runs a piece of code.
#[derive(Debug)]
pub(super) enum Runtime {
    /// A kernel; the default one when none is named.
    Kernel(Option<String>),
    /// Node.js; for TypeScript one that can remove types.
    Node { typescript: Option<Arc<Installation>> },
    /// An interpreter that is given a file.
    Interpreter(&'static Interpreter, PathBuf),
}

impl Codes {
    /// Stands on the runtimes it is given, and looks for others when asked.
    pub fn new(programs: &Programs, jupyters: &Arc<Jupyters>, nodes: &Arc<Nodes>) -> Arc<Self> {
        let catalogue =
            Catalogue::new(programs.confined_spawner().clone(), programs.environment(None));
        Arc::new(Self {
            programs: programs.clone(),
            jupyters: Arc::clone(jupyters),
            nodes: Arc::clone(nodes),
            catalogue: Arc::new(catalogue),
        })
    }

    /// What runs a language, in a session or without. The first part is the name it goes by.
    pub(super) async fn runtime(
        &self,
        language: &str,
        stateful: bool,
    ) -> Result<(String, Runtime), Error> {
        let name = canonical(language);
        let runtime = match name.as_str() {
            "python" => Some(Runtime::Kernel(None)),
            "javascript" => Some(Runtime::Node { typescript: None }),
            "typescript" => {
                let found = self.nodes.with_typescript().await;
                found.map(|found| Runtime::Node { typescript: Some(found) })
            }
            _ => None,
        };
        if let Some(runtime) = runtime {
            return Ok((name, runtime));
        }
        let installed = interpreter::installed(&self.programs);
        let found = installed.into_iter().find(|(known, _)| known.language == name);
        // A process gives an exact exit code, and costs less than a kernel; only a kernel keeps state.
        if let (Some((known, executable)), false) = (&found, stateful) {
            return Ok((name, Runtime::Interpreter(known, executable.clone())));
        }
        if let Some(kernel) = kernel_of(&name, &self.catalogue.list().await) {
            return Ok((name, Runtime::Kernel(Some(kernel.name.clone()))));
        }
        if found.is_some() {
            return Err(Error::new(
                Kind::Unsupported,
                "code.stateless_only",
                format!(
                    "{name} can only run without a session in this sandbox; omit stateful and session_id, or install a Jupyter kernel for it"
                ),
            ));
        }
        let names = self.languages().await.join(", ");
        let message = format!("{language:?} cannot be run in this sandbox, but {names} can");
        Err(Error::field("language", "unknown", message))
    }

    /// The names of all languages that can be run.
    pub(super) async fn languages(&self) -> Vec<String> {
        let mut names = vec!["python".to_owned(), "javascript".to_owned()];
        if self.nodes.with_typescript().await.is_some() {
            names.push("typescript".to_owned());
        }
        let installed = interpreter::installed(&self.programs);
        names.extend(installed.iter().map(|(known, _)| known.language.to_owned()));
        for kernel in self.catalogue.list().await {
            let language = canonical(&kernel.language);
            if !names.contains(&language) {
                names.push(language);
            }
        }
        names
    }
}

/// The kernel of a language: the one called so, if there are several.
pub(super) fn kernel_of<'a>(language: &str, kernels: &'a [KernelSpec]) -> Option<&'a KernelSpec> {
    let mut fitting = kernels.iter().filter(|kernel| canonical(&kernel.language) == language);
    let named = fitting.clone().find(|kernel| kernel.name == language);
    named.or_else(|| fitting.next())
}
