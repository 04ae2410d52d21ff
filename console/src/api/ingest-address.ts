/** Where clients send their calls, as control wrote it into the page. */
export const ingestAddress: string =
  document.querySelector<HTMLMetaElement>('meta[name="sluice-ingest"]')?.content || 'http://localhost:8080'
