// Shows this server's own document. A token typed into Authorize lives as long as the page and is kept nowhere.
window.ui = SwaggerUIBundle({
  dom_id: '#docs',
  url: new URL('../openapi.yaml', document.baseURI).href,
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'none', // all operations at once are more than it can draw
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null, // would ask a server of other people
});
