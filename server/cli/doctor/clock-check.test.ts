import { describe, expect, it } from 'vitest'
import { checkClock } from './clock-check.ts'
import type { Visit } from './visit.ts'

const now = 1_800_000_000

function answeredAt(seconds: number, more: Record<string, string> = {}): Visit {
  const date = new Date(seconds * 1000).toUTCString()
  return { kind: 'answered', text: '', status: 200, headers: new Headers({ date, ...more }), json: undefined }
}

describe('the clock', () => {
  it.each([
    [0, 'ok', /agrees with that of the provider\.$/],
    [-30, 'ok', /within 30 s/],
    [31, 'warn', /31 s behind/],
    [-300, 'warn', /300 s ahead of/],
    [301, 'fail', /301 s behind/],
    [-4000, 'fail', /expired or not yet valid/],
  ])('%i s off is %s', (offset, state, message) => {
    const [finding] = checkClock([answeredAt(now + offset)], now)
    expect(finding?.state).toBe(state)
    expect(finding?.message).toMatch(message)
  })

  it('the time that an answer lay in a cache is counted', () => {
    expect(checkClock([answeredAt(now - 600, { age: '600' })], now)[0]?.state).toBe('ok')
  })

  it('the first answer with a date counts; without any there is nothing to say', () => {
    const without: Visit = {
      kind: 'answered',
      text: '',
      status: 200,
      headers: new Headers(),
      json: undefined,
    }
    const nobody: Visit = { kind: 'unreachable', reason: 'gone' }
    expect(checkClock([nobody, without, answeredAt(now - 3600)], now)[0]?.state).toBe('fail')
    expect(checkClock([nobody, without], now)).toEqual([])
  })
})
