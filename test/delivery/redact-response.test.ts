import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withoutSecrets } from '../../delivery/redact-response.ts'
import { aDestination } from '../helpers/events.ts'

const withHeaders = (headers: Record<string, string>) =>
  aDestination({ webhooks: [{ url: 'https://r.example/', headers }] })

const shown = (response: string, value: string) =>
  withoutSecrets(response, withHeaders({ 'X-Api-Key': value }))

describe('an echoing receiver', () => {
  const value = 'k3y/"of" <Tom & Jerry>'
  test.each([
    ['a value as it is', `you sent ${value}!`, 'you sent ***!'],
    ['in JSON', JSON.stringify({ 'x-api-key': value }), '{"x-api-key":"***"}'],
    ['in JSON that escapes slashes', JSON.stringify([value]).replaceAll('/', '\\/'), '["***"]'],
    ['in JSON as Go writes it', `{"x":"k3y/\\"of\\" \\u003cTom \\u0026 Jerry\\u003e"}`, '{"x":"***"}'],
    ['in HTML', '<p>k3y/&quot;of&quot; &lt;Tom &amp; Jerry&gt;</p>', '<p>***</p>'],
    ['in a URL', `?key=${encodeURIComponent(value)}&a=1`, '?key=***&a=1'],
    ['in a form', `key=${new URLSearchParams({ k: value }).toString().slice(2)}`, 'key=***'],
    ['in base64', `${Buffer.from(value).toString('base64')};`, '***;'],
    ['in base64 without padding', `${Buffer.from(value).toString('base64').replace(/=+$/, '')};`, '***;'],
    ['in base64url', `${Buffer.from(value).toString('base64url')};`, '***;'],
    ['each time', `${value} ${value}`, '*** ***'],
    ['where the answer was cut off in it', `you sent ${value.slice(0, 6)}`, 'you sent ***'],
  ])('%s', (_, response, wanted) => {
    expect(shown(response, value)).toBe(wanted)
  })

  test.each([
    ['in HTML as Go writes it', `a&#34;b&#39;c&lt;`],
    ['in HTML as Python writes it', `a&quot;b&#x27;c&lt;`],
  ])('%s', (_, response) => {
    expect(shown(response, `a"b'c<`)).toBe('***')
  })

  test.each([
    ['PHP', 'a%2Fb%28c%29~%21%20d'],
    ['Java', 'a%2Fb%28c%29%7E%21+d'],
    ['.NET', 'a%2fb(c)~!+d'],
    ['.NET, strictly', 'a%2fb%28c%29~%21%20d'],
  ])('in a URL as %s writes it', (_, response) => {
    expect(shown(`key=${response}&`, 'a/b(c)~! d')).toBe('key=***&')
  })

  test.each([
    ['what stands behind the scheme', 'Bearer t0ken-123', '{"token":"t0ken-123"}', '{"token":"***"}'],
    ['a user and password', 'Basic dG9tOnMzY3JldA==', '["tom:s3cret"]', '["***"]'],
    ['a password alone', 'basic dG9tOnMzY3JldA==', 'wrong password s3cret', 'wrong password ***'],
  ])('%s', (_, value, response, wanted) => {
    expect(shown(response, value)).toBe(wanted)
  })

  test.each([
    ['/services/T012/B345/x7Gh29', 'Cannot POST /services/T012/B345/x7Gh29', 'Cannot POST ***'],
    ['/in/5f2b9c7d1e3a4b6c', 'no such hook: 5f2b9c7d1e3a4b6c', 'no such hook: ***'],
    ['/hook?team=a&token=t0ken', '{"token":"t0ken"}', '{"token":"***"}'],
    ['/hook?token=t0ken-1234', 'POST /hook?token=t0ken-1234', 'POST ***'],
    ['/hook?t0ken-1234', 'query: t0ken-1234', 'query: ***'],
    [
      '/hook?token=t0%6ben%7e',
      '{"query":"token=t0%6ben%7e","token":"t0ken~"}',
      '{"query":"token=***","token":"***"}',
    ],
    ['/in/5f2b%2B9c7d1e3a4b', 'no such hook: 5f2b+9c7d1e3a4b', 'no such hook: ***'],
    ['/in/5f2b%9c7d1e3a4b', 'no such hook: 5f2b%9c7d1e3a4b', 'no such hook: ***'],
    ['/hook', 'Cannot POST /hook', 'Cannot POST /hook'],
  ])('of the URL %s: %s', (path, response, wanted) => {
    const destination = aDestination({ webhooks: [{ url: `https://r.example${path}`, headers: {} }] })
    expect(withoutSecrets(response, destination)).toBe(wanted)
  })

  test('the secrets and all header values are masked, the longer of two first', () => {
    const destination = aDestination({
      sharedSecret: 'present-secret',
      previousSecret: 'previous-secret',
      webhooks: [
        { url: 'https://a.example/', headers: { 'X-A': 'team' } },
        { url: 'https://b.example/', headers: { 'X-B': 'team-of-b' } },
      ],
    })
    expect(withoutSecrets('present-secret previous-secret team-of-b team', destination)).toBe(
      '*** *** *** ***',
    )
  })

  test('any value of four characters or more is masked, at any position and even if cut off', () => {
    const value = fc.stringMatching(/^[!-~]{4,40}$/)
    fc.assert(
      fc.property(value, fc.string(), fc.string(), fc.nat(), (key, before, after, kept) => {
        const whole = JSON.stringify({ before, key, after })
        const text = shown(whole.slice(0, kept % (whole.length + 1)), key) ?? ''
        return !text.includes(JSON.stringify(key).slice(1, -1)) || '***'.includes(key)
      }),
    )
  })
})

describe('other text stays', () => {
  test.each([
    ['no answer', null, 'secret'],
    ['an empty one', '', 'secret'],
    ['one without it', '{"ok":true}', 'secret'],
    ['of a value of three characters', '{"version":"abc"}', 'abc'],
    ['of an empty value', 'thanks', ''],
    ['the first three characters of one at the end', 'the sec', 'secret'],
  ])('%s', (_, response, value) => {
    expect(withoutSecrets(response, withHeaders({ 'X-Any': value }))).toBe(response)
  })
})

/** By brute force: each occurrence, and a beginning at the end of the text. */
function reference(text: string, values: readonly string[]): string {
  const hidden = new Array<boolean>(text.length).fill(false)
  for (const value of values)
    for (let from = 0; from < text.length; from++) {
      const isThere = text.startsWith(value, from)
      const isCutOff = text.length - from >= 4 && value.startsWith(text.slice(from))
      if (isThere || isCutOff) hidden.fill(true, from, from + value.length)
    }
  return hidden.map((isHidden, at) => (isHidden ? '*' : text[at])).join('')
}

test('masks exactly what a brute-force search finds, also for overlapping and repeated values', () => {
  const letters = (least: number) => fc.stringMatching(new RegExp(`^[ab]{${least},12}$`))
  fc.assert(
    fc.property(
      fc.array(letters(4), { minLength: 1, maxLength: 3 }),
      fc.array(letters(0)),
      (values, parts) => {
        const text = parts.join('')
        const headers = Object.fromEntries(values.map((value, index) => [`X-${index}`, value]))
        const stars = (some: string | null) => (some ?? '').replace(/\*+/g, '*')
        // their base64 has other letters
        expect(stars(withoutSecrets(text, withHeaders(headers)))).toBe(stars(reference(text, values)))
      },
    ),
    { numRuns: 500 },
  )
})

test('a value longer than any response is masked from its beginning', () => {
  const value = 'ab'.repeat(2_000)
  expect(shown(`you sent ${value.slice(0, 900)}`, value)).toBe('you sent ***')
  expect(shown(`you sent ${value} and more`, value)).toBe('you sent ***')
})
