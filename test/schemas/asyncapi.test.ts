import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import avro from 'avsc'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { asyncapiText, describeTopics } from '../../schemas/asyncapi.ts'

const text = readFileSync(new URL('../../docs/asyncapi.yaml', import.meta.url), 'utf8')

describe('the description of the topics', () => {
  test('is generated from the schemas and the table of topics (npm run schemas)', () => {
    expect(text).toBe(asyncapiText())
  })

  test('is valid AsyncAPI', () => {
    const official = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0.json')
    // it brings JSON Schema's own schema along
    const ajv = new Ajv({ meta: false, validateSchema: false, strict: false, validateFormats: false })
    const valid = ajv.compile(official)
    expect([valid(parse(text)), valid.errors]).toEqual([true, null])
  })

  test('requires only the headers that every record has: code and event of a dead letter are optional', () => {
    const { events, dead } = describeTopics().components.messages
    expect(events?.headers.required).toEqual(['messageId'])
    expect(dead?.headers.required).toEqual(['reason'])
    expect(Object.keys(dead?.headers.properties ?? {})).toEqual(['reason', 'code', 'event'])
  })

  test('has a message for each channel, valid references, and Avro payloads', () => {
    const document = describeTopics()
    const { messages } = document.components
    for (const [id, { messages: named }] of Object.entries(document.channels))
      expect(named).toEqual({ [id]: { $ref: `#/components/messages/${id}` } })
    expect(Object.keys(document.channels)).toEqual(Object.keys(messages))
    for (const { payload } of Object.values(messages))
      expect(avro.Type.forSchema(payload.schema).typeName).toBe('record')
  })
})
