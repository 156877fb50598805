//! Directories a caller may ask for by what they are.

use atoll_api::file::{GetHomeDirectory, GetTempDirectory, KnownDirectory};
use atoll_operation::{Context, Error, Handle};

use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<GetTempDirectory> for Files {
    async fn handle(&self, _: &Context, _: GetTempDirectory) -> Result<KnownDirectory, Error> {
        Ok(KnownDirectory { path: show(&self.temporary_directory()) })
    }
}

impl Handle<GetHomeDirectory> for Files {
    async fn handle(&self, _: &Context, _: GetHomeDirectory) -> Result<KnownDirectory, Error> {
        Ok(KnownDirectory { path: show(&self.places.home) })
    }
}
