import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeBrowser } from 'wxt/testing/fake-browser'
import background from '../entrypoints/background.ts'
import { createBrowser } from '../platform/browser.ts'
import { storeIntent } from '../platform/intent.ts'
import { provide, provideEvent } from '../../tests/support/extension/platform/fake-web-extension.ts'
import { resumePopup } from './resume.ts'

vi.mock('webextension-polyfill', async () => ({
  default: (await import('wxt/testing/fake-browser')).fakeBrowser,
}))

beforeEach(() => {
  fakeBrowser.reset()
  vi.useFakeTimers()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Grants a permission in a tab's popup. */
async function resumeWith(
  tab: () => Promise<unknown>,
  meanwhile: () => unknown = () => {},
  open: () => Promise<void> = async () => {},
): Promise<unknown[][]> {
  const openPopup = provide('action.openPopup', open)
  provide('tabs.get', tab)
  const browser = createBrowser()
  browser.setIntent({ kind: 'read', tabId: 7 })
  const resumed = resumePopup(browser)
  await meanwhile()
  await vi.advanceTimersByTimeAsync(1000)
  await resumed
  return openPopup.mock.calls
}

describe('a new permission', () => {
  it('the background reopens the popup that a prompt closed, in its window, with the intent', async () => {
    expect(await resumeWith(async () => ({ active: true, windowId: 3 }))).toEqual([[{ windowId: 3 }]])
    expect(await createBrowser().takeIntent()).toMatchObject({ kind: 'read', tabId: 7 })
  })

  it('after a new permission the background does not reopen a popup that is still open', async () => {
    const calls = await resumeWith(
      async () => ({ active: true, windowId: 3 }),
      async () => {
        await vi.advanceTimersByTimeAsync(150)
        await createBrowser().takeIntent()
      },
    )
    expect(calls).toEqual([])
  })

  it.each<[string, () => Promise<unknown>]>([
    ['has another tab before them', async () => ({ active: false, windowId: 3 })],
    ['closed the tab', () => Promise.reject(new Error('No tab with id: 7.'))],
  ])(
    'after a new permission the background does not open a popup for a person who %s',
    async (_what, tab) => {
      expect(await resumeWith(tab)).toEqual([])
    },
  )

  it('after a new permission the background keeps the intent for the next click if the browser opens no popup', async () => {
    const refuse = (): Promise<never> => Promise.reject(new Error('openPopup requires a user gesture'))
    await resumeWith(async () => ({ active: true, windowId: 3 }), undefined, refuse)
    expect(await createBrowser().takeIntent()).toMatchObject({ kind: 'read', tabId: 7 })
  })

  it('after a new permission the background opens no popup for a permission given on the settings page', async () => {
    const openPopup = provide('action.openPopup', async () => {})
    const resumed = resumePopup(createBrowser())
    await vi.advanceTimersByTimeAsync(1000)
    await resumed
    expect(openPopup).not.toHaveBeenCalled()
  })
})

it('the background listens for a new permission from its first turn on, and then opens the popup again', async () => {
  const added = provideEvent('permissions.onAdded')
  background.main()
  expect(added.listeners).toBe(1)
  const openPopup = provide('action.openPopup', async () => {})
  provide('tabs.get', async () => ({ active: true, windowId: 3 }))
  storeIntent({ kind: 'read', tabId: 7 })
  added.emit({})
  await vi.advanceTimersByTimeAsync(1000)
  expect(openPopup).toHaveBeenCalledOnce()
})
