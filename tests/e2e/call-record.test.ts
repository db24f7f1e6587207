import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson } from './person.ts'
import { postMcp, registerPlainClient } from './plain-client.ts'
import { type LogLine, type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const people = 4
const callsOfEach = 20

let server: ServerProcess

beforeAll(async () => {
  server = await startServer({
    AUDIT: 'audit.jsonl',
    SIGN_IN_LIMIT: '1000',
    // The audit file does not depend on the log level.
    LOG: 'error',
  })
})
afterAll(() => server?.close())

const path = (): string => join(server.directory, 'audit.jsonl')

function linesOf(text: string): LogLine[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine)
}

const traceparent = (traceId: string): string => `00-${traceId}-${'1'.repeat(16)}-01`

/** Calls that end in every way except by a rule or limit, with their recorded outcome. */
const calls: readonly (readonly [name: string, input: object, outcome: string])[] = [
  ['whoami', {}, 'ok'],
  ['add_note', { text: 'a note that nobody may find in a record' }, 'ok'],
  ['list_notes', {}, 'ok'],
  ['add_note', { text: '' }, 'tool_error'],
  ['nothing', { text: 'an argument that nobody may find in a record' }, 'failed'],
]

/** Returns the user the tool says is calling. */
async function subOf(token: string): Promise<string> {
  const message = { method: 'tools/call', params: { name: 'whoami', arguments: {} } }
  const response = await postMcp(server, message, { authorization: `Bearer ${token}` })
  const { result } = (await response.json()) as { result: { structuredContent: { sub: string } } }
  return result.structuredContent.sub
}

describe('the audit file', () => {
  it(
    'has every call of people who call at once as a record, each with the right person',
    { timeout: 120_000 },
    async () => {
      const made = new Map<string, { sub: string; tool: string; outcome: string }>()
      await Promise.all(
        Array.from({ length: people }, async () => {
          const person = await createPerson(server)
          const { access_token: token } = await (await registerPlainClient(server)).connect(person)
          const sub = await subOf(token)
          for (let index = 0; index < callsOfEach; index += 1) {
            const [name, input, outcome] = calls[index % calls.length] ?? ['', {}, '']
            const traceId = randomBytes(16).toString('hex')
            made.set(traceId, { sub, tool: name, outcome })
            const inMeta = index % 2 === 0
            const response = await postMcp(
              server,
              {
                method: 'tools/call',
                params: {
                  name,
                  arguments: input,
                  ...(inMeta && { _meta: { traceparent: traceparent(traceId) } }),
                },
              },
              { authorization: `Bearer ${token}`, ...(!inMeta && { traceparent: traceparent(traceId) }) },
            )
            await response.text()
          }
        }),
      )
      const records = (): LogLine[] =>
        linesOf(readFileSync(path(), 'utf8')).filter(({ event }) => event === 'tool_called')
      await until(() => records().length >= people * (callsOfEach + 1), 'the last record')
      const traced = records().filter((record) => made.has(String(record['trace_id'])))
      expect(traced).toHaveLength(people * callsOfEach)
      expect(new Set(traced.map((record) => record['trace_id'])).size).toBe(people * callsOfEach)
      const wrong = traced.filter((record) => {
        const { sub, tool, outcome } = made.get(String(record['trace_id'])) ?? {}
        return record['sub'] !== sub || record['tool'] !== tool || record['outcome'] !== outcome
      })
      expect(wrong).toEqual([])
    },
  )

  it('has the sign-ins too, and nothing else', () => {
    const events = new Set(linesOf(readFileSync(path(), 'utf8')).map(({ event }) => event))
    expect([...events].toSorted()).toEqual(['client_registered', 'signed_in', 'token_issued', 'tool_called'])
  })

  it('holds no secret, argument or result, and is its owner’s alone', () => {
    const text = readFileSync(path(), 'utf8')
    expect(server.secrets.findIn(text)).toEqual([])
    expect(text).not.toMatch(/nobody may find|@/)
    expect(statSync(path()).mode & 0o777).toBe(0o600)
  })

  it('is opened again by SIGHUP after it was moved away', async () => {
    const moved = `${path()}.1`
    renameSync(path(), moved)
    server.signal('SIGHUP')
    await until(() => statSync(path(), { throwIfNoEntry: false }) !== undefined, 'the new file')
    // What is being written at that moment still goes to the old one.
    const events = (): unknown[] => linesOf(readFileSync(path(), 'utf8')).map(({ event }) => event)
    await until(async () => {
      await registerPlainClient(server)
      return events().includes('client_registered')
    }, 'a record in the new file')
    expect(statSync(path()).mode & 0o777).toBe(0o600)
  })
})
