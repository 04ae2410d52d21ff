export type SnippetText = { id: string; label: string; code: string; note?: string }

/** @param endpoint of ingest, without a trailing slash. */
export function snippets({ writeKey, endpoint }: { writeKey: string; endpoint: string }): SnippetText[] {
  return [
    {
      id: 'curl',
      label: 'curl',
      code: `curl ${endpoint}/v1/track -u ${quoted(`${writeKey}:`)} \\
  -d '{"userId": "u1", "event": "Signed Up", "properties": {"plan": "pro"}}'`,
    },
    {
      id: 'node',
      label: 'Node',
      code: `import { Analytics } from 'sluice-analytics'

const analytics = new Analytics({ writeKey: ${JSON.stringify(writeKey)}, endpoint: '${endpoint}' })
analytics.track({ userId: 'u1', event: 'Signed Up', properties: { plan: 'pro' } })
await analytics.close()`,
      note: 'The library is in the clients/node folder of Sluice. Its README explains the installation.',
    },
    {
      id: 'go',
      label: 'Go',
      code: `client := analytics.New(${JSON.stringify(writeKey)})
client.Endpoint = "${endpoint}"
err := client.Track(&analytics.Track{
	UserId:     "u1",
	Event:      "Signed Up",
	Properties: map[string]any{"plan": "pro"},
})
err = client.Close()`,
      note: 'The library is in the clients/go folder of Sluice. Its README explains the installation.',
    },
    {
      id: 'web',
      label: 'Web page',
      code: `await fetch(${JSON.stringify(`${endpoint}/v1/track?writeKey=${encodeURIComponent(writeKey)}`)}, {
  method: 'POST',
  keepalive: true,
  body: JSON.stringify({ userId: 'u1', event: 'Signed Up', properties: { plan: 'pro' } }),
})`,
      note: "Anyone can read a page's write key, so give the source a rate limit.",
    },
  ]
}

/** For a shell: a write key can contain any printable character. */
const quoted = (text: string): string =>
  /^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
