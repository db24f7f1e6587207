import { afterEach, expect, it, vi } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { ProcessUse } from './process-use.ts'

it('a process may be ended to make room when no call has been open for 30 seconds', () => {
  const runtime = createFakeRuntime()
  const use = new ProcessUse(runtime, 60_000, () => {})
  use.begin()
  runtime.advance(200)
  expect(use.isSpare).toBe(false)
  use.over()
  runtime.advance(29)
  expect(use.isSpare).toBe(false)
  runtime.advance(1)
  expect(use.isSpare).toBe(true)
  use.stop()
})

afterEach(() => vi.useRealTimers())

it('a process becomes idle once its last call has been over for the idle time', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const runtime = createFakeRuntime()
  const onIdle = vi.fn()
  const use = new ProcessUse(runtime, 1000, onIdle)
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
