import { afterEach, describe, expect, it, vi } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { SlotUse } from './process-slot.ts'

it.each<[whose: string, isOwn: boolean, happens: (use: SlotUse) => void, seconds: number]>([
  ['that serves several clients', false, () => {}, 120],
  ['whose client has never come back after initialize', true, () => {}, 5],
  ['whose client does not listen', true, (use) => use.recordMessage(), 30],
  ['whose client listens', true, (use) => use.recordListening(true), 120],
  [
    'whose client has stopped listening',
    true,
    (use) => {
      use.recordListening(true)
      use.recordListening(false)
    },
    5,
  ],
  [
    'whose client has stopped listening and come back',
    true,
    (use) => {
      use.recordListening(false)
      use.recordMessage()
    },
    30,
  ],
])(
  'a process %s may be ended to make room when it has been idle for long enough',
  (_whose, isOwn, happens, seconds) => {
    const runtime = createFakeRuntime()
    const use = new SlotUse(runtime, { isOwn, idleMs: 60_000, onIdle() {} })
    use.begin()
    runtime.advance(200)
    expect(use.isSpare).toBe(false)
    use.over()
    happens(use)
    runtime.advance(seconds - 1)
    expect(use.isSpare).toBe(false)
    runtime.advance(1)
    expect(use.isSpare).toBe(true)
    use.stop()
  },
)

describe('a process becomes idle', () => {
  afterEach(() => vi.useRealTimers())

  it('once its last call has been over for as long as it is kept', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const runtime = createFakeRuntime()
    const onIdle = vi.fn()
    const use = new SlotUse(runtime, { isOwn: false, idleMs: 1000, onIdle })
    use.begin()
    use.begin()
    expect([use.isIdle, use.idleSeconds]).toEqual([false, 0])
    use.over()
    runtime.advance(7)
    vi.advanceTimersByTime(5000)
    expect([use.isIdle, use.idleSeconds, onIdle.mock.calls.length]).toEqual([false, 0, 0])
    use.over()
    runtime.advance(7)
    expect([use.isIdle, use.idleSeconds]).toEqual([true, 7])
    vi.advanceTimersByTime(999)
    use.begin()
    vi.advanceTimersByTime(5000)
    use.over()
    vi.advanceTimersByTime(999)
    expect(onIdle).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(onIdle).toHaveBeenCalledOnce()
  })
})
