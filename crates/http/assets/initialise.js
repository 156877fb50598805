// Everything is relative to this page, so that it works behind a path prefix; a null validator keeps the document on
// this machine.
const base = document.baseURI.replace(/v1\/docs[^/]*$/, "");

SwaggerUIBundle({
  url: `${base}v1/openapi.json`,
  dom_id: "#swagger-ui",
  deepLinking: true,
  displayOperationId: true,
  docExpansion: "list",
  tryItOutEnabled: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    // The document names no server, so calls are made to the root of the origin.
    const root = `${location.origin}/`;
    if (request.url.startsWith(`${root}v1/`)) {
      request.url = base + request.url.slice(root.length);
    }
    return request;
  },
});
