import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { DatabaseRefusedError, readPostgresFailure } from './error.ts'

const systemError = (code: string): Error => Object.assign(new Error('what the system says'), { code })
const serverError = (code: string, more: Record<string, unknown> = {}): Error =>
  Object.assign(systemError(code), { severity: 'ERROR', ...more })

describe('what an error of the database means', () => {
  it.each([
    ['08006', 'unavailable', true, 'connection failure'],
    ['08P01', 'refused', true, 'a startup parameter that a pooler does not know'],
    ['57P01', 'unavailable', true, 'shut down by its administrator'],
    ['57P02', 'unavailable', true, 'crashed'],
    ['57P03', 'unavailable', true, 'starting up'],
    ['57014', 'unavailable', false, 'statement timeout'],
    ['53100', 'unavailable', false, 'disk full'],
    ['53200', 'unavailable', false, 'out of memory'],
    ['53300', 'unavailable', false, 'too many connections'],
    ['58030', 'unavailable', false, 'input or output of the system'],
    ['55P03', 'unavailable', false, 'lock timeout'],
    ['25006', 'unavailable', false, 'read-only'],
    ['40001', 'conflict', false, 'serialization failure'],
    ['40P01', 'conflict', false, 'deadlock'],
    ['28P01', 'refused', true, 'wrong password'],
    ['28000', 'refused', true, 'not allowed to connect'],
    ['3D000', 'refused', true, 'no such database'],
    ['55000', 'refused', false, 'a database that takes no connections'],
    ['42501', 'refused', false, 'missing privilege'],
    ['26000', 'refused', false, 'a prepared statement of another connection'],
    ['42P05', 'refused', false, 'a prepared statement that is there already'],
    ['42P01', 'fault', false, 'no such table'],
    ['23505', 'fault', false, 'not unique'],
  ])('an error %s of the database is %s, its connection broken: %s (%s)', (code, kind, broken) => {
    expect(readPostgresFailure(serverError(code), '')).toMatchObject({ kind, broken })
  })

  it.each(['EPIPE', 'ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT'])(
    'the error %s comes from the connection',
    (code) => {
      expect(readPostgresFailure(systemError(code), '')).toMatchObject({ kind: 'unavailable', broken: true })
    },
  )

  it('an error without a code comes from the connection', () => {
    const failure = readPostgresFailure(new Error('Connection terminated unexpectedly'), '')
    expect(failure).toMatchObject({ kind: 'unavailable', broken: true })
    expect(failure.reason).toBe('Connection terminated unexpectedly')
  })

  it('an error without text is named by its code: both addresses of a host may refuse', () => {
    const error = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })
    expect(readPostgresFailure(error, '').reason).toBe('connection refused')
  })

  it('an error of our own mistake stays unchanged', () => {
    expect(readPostgresFailure(new TypeError('x'), '').kind).toBe('fault')
  })

  it('a database that cannot be worked with is refused, and its connection kept', () => {
    const failure = readPostgresFailure(new DatabaseRefusedError('too old'), '')
    expect(failure).toMatchObject({ kind: 'refused', broken: false, reason: 'too old' })
  })

  it.each(['26000', '42P05', '08P01'])('the error %s hints at the pooler', (code) => {
    expect(readPostgresFailure(serverError(code), '').reason).toContain('pooler=transaction')
  })

  it('an error passes on no password, row or statement', () => {
    const error = serverError('23505', {
      message: 'failed for hunter2 (hunter2)',
      detail: 'Key (user_email)=(ada@example.com) already exists.',
      where: 'ada@example.com',
      query: 'INSERT ada@example.com',
    })
    const text = inspect(readPostgresFailure(error, 'hunter2'))
    expect(text).toContain('failed for *** (***)')
    expect(text).not.toMatch(/hunter2|ada@example/)
  })
})
