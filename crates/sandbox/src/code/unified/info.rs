//! Which languages there are.

use atoll_api::code::{CodeInfo, CodeLanguage, GetCodeInfo};
use atoll_api::jupyter::GetJupyterInfo;
use atoll_api::nodejs::GetNodeInfo;
use atoll_kernel::KernelSpec;
use atoll_operation::{Context, Error, Handle};
use serde_json::{Map, Value, json};

use super::answer::object;
use super::interpreter;
use super::language::canonical;
use super::service::{Codes, kernel_of};

const DEFAULT_TIMEOUT: u64 = 30;
const MAX_TIMEOUT: u64 = 300;

impl Handle<GetCodeInfo> for Codes {
    async fn handle(&self, cx: &Context, _input: GetCodeInfo) -> Result<CodeInfo, Error> {
        let kernels = self.catalogue.list().await;
        let languages = vec![self.python(cx, &kernels).await?, self.javascript(cx).await?];
        let mut extensions: Vec<_> = self.typescript().await.into_iter().collect();
        for (known, executable) in interpreter::installed(&self.programs) {
            let kernel = kernel_of(known.language, &kernels);
            let program = executable.display();
            extensions.push(CodeLanguage {
                language: known.language.to_owned(),
                description: format!("{} code, given to {program} as a file", known.name),
                runtime_version: known.version(&self.programs, &executable).await,
                ..described(json!({
                    "program": executable,
                    "stateful": kernel.is_some(),
                    "kernel": kernel.map(|kernel| &kernel.name),
                }))
            });
        }
        for kernel in &kernels {
            let language = canonical(&kernel.language);
            if !languages.iter().chain(&extensions).any(|known| known.language == language) {
                extensions.push(of_kernel(language, kernel));
            }
        }
        Ok(CodeInfo { languages, extensions: extensions.iter().map(object).collect() })
    }
}

impl Codes {
    async fn python(&self, cx: &Context, kernels: &[KernelSpec]) -> Result<CodeLanguage, Error> {
        let info = self.jupyters.handle(cx, GetJupyterInfo {}).await?;
        let default = kernels.iter().find(|kernel| kernel.name == info.default_kernel);
        let version = default.and_then(|kernel| {
            let words = kernel.display_name.split(' ');
            words
                .into_iter()
                .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        });
        Ok(CodeLanguage {
            language: "python".to_owned(),
            description:
                "Python code in a Jupyter kernel: a session's, or a fresh one that is thrown away"
                    .to_owned(),
            runtime_version: version.map(str::to_owned),
            ..described(json!({
                "available": default.is_some(),
                "stateful": true,
                "kernel": info.default_kernel,
                "available_kernels": info.available_kernels,
            }))
        })
    }

    async fn javascript(&self, cx: &Context) -> Result<CodeLanguage, Error> {
        let info = self.nodes.handle(cx, GetNodeInfo {}).await?;
        let available = info.error.is_none();
        Ok(CodeLanguage {
            language: "javascript".to_owned(),
            description: "JavaScript code in Node.js: a session, or a fresh process".to_owned(),
            runtime_version: available.then(|| info.node_version.clone()),
            ..described(json!({
                "available": available,
                "stateful": true,
                "npm_version": info.npm_version,
                "available_versions": info.available_versions,
                "error": info.error,
            }))
        })
    }

    async fn typescript(&self) -> Option<CodeLanguage> {
        self.nodes.with_typescript().await.map(|found| CodeLanguage {
            language: "typescript".to_owned(),
            description: "TypeScript code in Node.js, its types removed and not checked".to_owned(),
            runtime_version: Some(found.version.to_string()),
            ..described(json!({ "stateful": true, "program": found.program }))
        })
    }
}

fn of_kernel(language: String, kernel: &KernelSpec) -> CodeLanguage {
    CodeLanguage {
        language,
        description: format!("code in the Jupyter kernel {}", kernel.display_name),
        ..described(json!({ "stateful": true, "kernel": kernel.name }))
    }
}

/// A language of which only the details are known yet.
fn described(details: Value) -> CodeLanguage {
    CodeLanguage {
        language: String::new(),
        description: String::new(),
        runtime_version: None,
        default_timeout: DEFAULT_TIMEOUT,
        max_timeout: MAX_TIMEOUT,
        details: match details {
            Value::Object(details) => details,
            _ => Map::new(),
        },
    }
}
