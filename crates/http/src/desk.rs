//! The operations that are about credentials themselves. They belong to this face, because only it knows who calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use atoll_api::auth::{Authenticate, CreateTicket, Ticket};
use atoll_api::system::Limits;
use atoll_auth::{Authenticator, Principal};
use atoll_operation::{Context, Error, Handle, Kind, Registry};

use crate::{activity, pulse};

/// Hands out tickets.
#[derive(Debug)]
struct Desk(Arc<Authenticator>);

/// Binds the operations of this face, and has it told of every call from now on.
pub fn bind(registry: &mut Registry, authenticator: &Arc<Authenticator>, limits: &Limits) {
    let desk = Arc::new(Desk(Arc::clone(authenticator)));
    registry.bind::<CreateTicket, _>(&desk).bind::<Authenticate, _>(&desk);
    activity::bind(registry, limits);
    pulse::bind(registry);
}

fn caller(cx: &Context) -> Result<&Principal, Error> {
    cx.caller().ok_or_else(|| {
        let message = "nobody is known to call; send a credential";
        Error::new(Kind::Unauthenticated, "auth.missing", message)
    })
}

impl Handle<CreateTicket> for Desk {
    async fn handle(&self, cx: &Context, _input: CreateTicket) -> Result<Ticket, Error> {
        let issued = self.0.issue(caller(cx)?).map_err(|error| {
            Error::new(Kind::ResourceExhausted, "auth.tickets_exhausted", error.to_string())
        })?;
        let issued = issued.ok_or_else(|| {
            let message = "a ticket is not given for a ticket; ask with the key or token itself";
            Error::new(Kind::PermissionDenied, "auth.no_renewal", message)
        })?;
        Ok(Ticket { ticket: issued.text, expires_in: issued.lasts.as_secs() })
    }
}

impl Handle<Authenticate> for Desk {
    async fn handle(
        &self,
        cx: &Context,
        _input: Authenticate,
    ) -> Result<BTreeMap<String, String>, Error> {
        let caller = caller(cx)?;
        let told = [
            ("status", "ok".to_owned()),
            ("how", caller.how.as_str().to_owned()),
            ("id", caller.id.clone()),
            ("scopes", caller.scopes.to_string()),
        ];
        Ok(told.map(|(name, value)| (name.to_owned(), value)).into())
    }
}
