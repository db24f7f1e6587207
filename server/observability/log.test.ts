import type { Metrics } from './metrics.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { createLog, type LogLevel, nameTokenRefusals, reportTo } from './log.ts'

let lines: string[]
beforeEach(() => {
  lines = []
})

const log = (level: LogLevel = 'debug', metrics?: Metrics) =>
  createLog(level, { write: (line) => void lines.push(line) }, { metrics })

function logged(): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('a line', () => {
  it('a line of the log has time, level, event, the id of its request and the fields of the event', () => {
    reportTo(log(), { request_id: 'r-1' })('request_refused', { code: 'invalid_grant' })
    expect(logged()).toEqual([
      {
        level: 20,
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: 'request_refused',
        request_id: 'r-1',
        code: 'invalid_grant',
      },
    ])
  })

  it('a line of the log about access carries "audit": true and the address of the client', () => {
    const report = reportTo(log(), { request_id: 'r-1', address: '192.0.2.7' })
    report('signed_in', { client_id: 'c', sub: 'ada' })
    expect(logged()[0]).toMatchObject({ audit: true, address: '192.0.2.7', sub: 'ada' })
  })

  it('a line of the log about another event carries neither audit nor address', () => {
    reportTo(log(), { address: '192.0.2.7' })('sign_in_stranded', { reason: 'client_unknown' })
    expect(Object.keys(logged()[0] ?? {}).sort()).toEqual(['event', 'level', 'reason', 'time'])
  })

  it('a line of the log is not written below the configured level', () => {
    const report = reportTo(log('info'))
    report('mcp_request', { credential: 'access_token' })
    report('stopping')
    expect(logged().map(({ event }) => event)).toEqual(['stopping'])
  })

  it('a line of the log redacts secrets, also in messages, stacks and causes of errors', () => {
    const cause = new TypeError('refused: Bearer opaque-token-of-somebody')
    const error = new Error('The store said mcpa_0mq1x2c3Ab9d8e7f6', { cause })
    reportTo(log())('request_failed', { error, nested: { list: ['?code=abc123'] } })
    const text = lines.join('')
    for (const secret of ['mcpa_0mq1', 'opaque-token', 'abc123']) expect(text).not.toContain(secret)
    expect(text).toContain('The store said [redacted]')
    expect(text).toContain('refused: Bearer [redacted]')
  })

  it('a line of the log has message, code and stack of an error, and no other member', () => {
    const cause = Object.assign(new Error('broken'), { data: 'what somebody was told' })
    const error = Object.assign(new Error('no HTTP', { cause }), {
      code: 'HPE_X',
      data: 'what somebody was told',
    })
    reportTo(log())('request_failed', { error })
    reportTo(log())('request_failed', { error: { data: 'what somebody was told' } })
    expect(logged()[0]?.['err']).toEqual({
      type: 'Error',
      message: 'no HTTP: broken',
      code: 'HPE_X',
      stack: expect.stringContaining('log.test.ts'),
    })
    expect(lines.join('')).not.toContain('what somebody was told')
  })
})

it('a line of the log shows a cause once if the message of the error repeats it, in a chain too', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:5432')
  const unusable = new StoreUnavailableError(`The database cannot be used: ${refused.message}`, {
    cause: refused,
  })
  reportTo(log())('request_failed', { error: new Error('No answer', { cause: unusable }) })
  expect(logged()[0]?.['err']).toMatchObject({
    message: 'No answer: The database cannot be used: connect ECONNREFUSED 127.0.0.1:5432',
  })
})

it.each(['provider_session_unreadable', 'grant_of_other_provider'])('%s says what to do', (event) => {
  reportTo(log())(event, { grant_id: 'g' })
  expect(logged()).toMatchObject([{ next_step: expect.stringContaining('sign in again by themselves') }])
})

describe('a refusal', () => {
  it.each([
    ['/base/oauth/token', 'token_refused', true],
    ['/base/oauth/token?a=1', 'token_refused', true],
    ['/base/oauth/register', 'request_refused', undefined],
    ['/oauth/token', 'request_refused', undefined],
  ])('a refusal at %s is logged as %s', (path, event, audit) => {
    const url = `https://mcp.example.com${path}`
    const report = nameTokenRefusals(reportTo(log()), url, ['/base/oauth/token'])
    report('request_refused', { code: 'invalid_grant' })
    expect(logged()).toMatchObject([{ event, code: 'invalid_grant' }])
    expect(logged()[0]?.['audit']).toBe(audit)
  })

  it('a refusal renames no other event', () => {
    const url = 'https://mcp.example.com/oauth/token'
    nameTokenRefusals(reportTo(log()), url, ['/oauth/token'])('token_issued', { client_id: 'c' })
    expect(logged()).toMatchObject([{ event: 'token_issued', client_id: 'c' }])
  })
})

it('the log reports every event to the metrics, whatever its level', () => {
  const heard: unknown[] = []
  const metrics = { event: (...event: unknown[]) => void heard.push(event) }
  const report = reportTo(log('silent', metrics as unknown as Metrics))
  report('mcp_request', { credential: 'access_token' })
  expect([heard, lines]).toEqual([[['mcp_request', { credential: 'access_token' }]], []])
})
