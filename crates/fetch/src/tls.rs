//! TLS with the certificates the system trusts.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::error::{FetchError, chain};

/// Makes connections secure. Certificates are read when the first is.
#[derive(Debug, Default)]
pub(crate) struct Tls(OnceCell<Arc<ClientConfig>>);

impl Tls {
    pub(crate) async fn secure(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, FetchError> {
        let failed = |reason: String| FetchError::Tls { host: host.to_owned(), reason };
        let config = self.0.get_or_try_init(|| async {
            let read = tokio::task::spawn_blocking(config).await;
            read.map_err(|error| error.to_string()).flatten()
        });
        let config = Arc::clone(config.await.map_err(failed)?);
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(bare).map_err(|error| failed(error.to_string()))?;
        let connected = TlsConnector::from(config).connect(name, stream).await;
        connected.map_err(|error| failed(chain(&error)))
    }
}

fn config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        return Err("the system trusts no certificates: install ca-certificates".to_owned());
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
