// runs in the browser
globalThis.SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  // it would ask a host of its own
  validatorUrl: null,
  // who is signed in may try changes, too
  requestInterceptor(request) {
    request.headers['X-Requested-With'] = 'docs'
    return request
  },
})
