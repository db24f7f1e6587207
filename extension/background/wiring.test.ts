import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeBrowser } from 'wxt/testing/fake-browser'
import background from '../entrypoints/background.ts'
import { storeIntent } from '../platform/intent.ts'
import {
  provide,
  provideEvent,
  type ProvidedEvent,
} from '../../tests/support/extension/platform/fake-web-extension.ts'
import { badgeAlarm } from './badges.ts'

vi.mock('webextension-polyfill', async () => ({
  default: (await import('wxt/testing/fake-browser')).fakeBrowser,
}))

const names = [
  'alarms.onAlarm',
  'cookies.onChanged',
  'permissions.onAdded',
  'permissions.onRemoved',
  'runtime.onInstalled',
  'runtime.onStartup',
  'tabs.onActivated',
  'tabs.onUpdated',
] as const

let events: Record<(typeof names)[number], ProvidedEvent>
/** Counts how often the badges of all tabs were updated. */
let paintings: () => number

beforeEach(() => {
  fakeBrowser.reset()
  vi.useFakeTimers()
  events = Object.fromEntries(names.map((name) => [name, provideEvent(name)])) as typeof events
  const query = provide('tabs.query', async () => [])
  paintings = () => query.mock.calls.length
  background.main()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('the background', () => {
  it('listens from its first turn on: the event that woke it arrives only then', () => {
    for (const name of names) expect(events[name].listeners, name).toBe(1)
  })

  it('does nothing by itself', async () => {
    await vi.advanceTimersByTimeAsync(1000)
    expect(paintings()).toBe(0)
  })

  it.each([
    ...names.filter((name) => name !== 'alarms.onAlarm').map((name) => [name, 'complete', 1] as const),
    ['tabs.onUpdated', 'loading', 0] as const,
    ['tabs.onUpdated', undefined, 0] as const,
  ])('paints badges on %s, in a burst too, with the status %s: %i', async (name, status, times) => {
    for (let burst = 0; burst < 5; burst += 1) events[name].emit({}, { status })
    await vi.advanceTimersByTimeAsync(1000)
    expect(paintings()).toBe(times)
  })

  it.each([
    [badgeAlarm, 1],
    ['other', 0],
  ])('paints badges on the alarm %s: %s', async (name, times) => {
    events['alarms.onAlarm'].emit({ name })
    await vi.advanceTimersByTimeAsync(0)
    expect(paintings()).toBe(times)
  })

  it('opens the popup again when a permission was given', async () => {
    const openPopup = provide('action.openPopup', async () => {})
    provide('tabs.get', async () => ({ active: true, windowId: 3 }))
    storeIntent({ kind: 'read', tabId: 7 })
    events['permissions.onAdded'].emit({})
    await vi.advanceTimersByTimeAsync(1000)
    expect(openPopup).toHaveBeenCalledOnce()
  })
})
