import { describe, expect, it } from 'vitest'
import {
  createMemoryBrowser,
  type MemoryBrowser,
} from '../../../tests/support/extension/platform/memory-browser.ts'
import type { ProfileDraft } from './profile-form.ts'
import type { SettingsBrowser } from '../ports.ts'
import { settingsHash } from '../settings-hash.ts'
import { SettingsPage } from './settings-page.ts'
import type { ProfilesView, SettingsView } from './settings-view.ts'
import type { Profile } from '../profile.ts'
import { originPatterns } from '../site.ts'

const notes: Profile = {
  id: 'notes',
  label: 'Notes',
  appUrl: 'https://notes.example.com',
  baseUrl: 'https://mcp.example.com',
  cookieName: undefined,
}
const draft: ProfileDraft = {
  id: 'new-1',
  label: '',
  appUrl: 'https://app.example.com/',
  baseUrl: 'https://mcp.example.com/mcp',
  cookieName: '',
}

interface Trial {
  memory: MemoryBrowser
  page: SettingsPage
  views: SettingsView[]
  view(): SettingsView
  profiles(): ProfilesView
  returned: number[]
}

/** Opens the page in an in-memory browser. `tabs`: the open tabs. */
async function open(
  hash: string,
  start: Parameters<typeof createMemoryBrowser>[0] = {},
  tabs: readonly number[] = [7],
): Promise<Trial> {
  const memory = createMemoryBrowser({ settings: { version: 1, profiles: [notes] }, ...start })
  const returned: number[] = []
  const browser: SettingsBrowser = {
    ...memory,
    allowed: async () => [...memory.world.allowed],
    async forget(patterns) {
      for (const pattern of patterns) memory.world.allowed.delete(pattern)
    },
    async returnTo(tabId) {
      if (tabs.includes(tabId)) returned.push(tabId)
      return tabs.includes(tabId)
    },
  }
  const views: SettingsView[] = []
  const page = new SettingsPage(browser, (view) => views.push(view))
  await page.start(hash)
  const view = (): SettingsView => views.at(-1) ?? { kind: 'loading' }
  return { memory, page, views, view, profiles: () => view() as ProfilesView, returned }
}

it('the list of profiles says what is allowed for each', async () => {
  const { profiles } = await open('', { allowed: new Set(originPatterns('https://notes.example.com')) })
  expect(profiles()).toEqual({
    kind: 'profiles',
    profiles: [
      {
        ...notes,
        mayRead: true,
        mayTest: false,
      },
    ],
    otherSites: [],
    form: undefined,
    deleting: undefined,
    notice: { kind: 'none' },
  })
})

it('in Firefox a server may be tested only with the consent to send tokens, beside the permission', async () => {
  const start = { asksInTab: true, allowed: new Set(originPatterns('https://mcp.example.com')) }
  const mayTest = async (consent: boolean): Promise<boolean | undefined> =>
    (await open('', { ...start, mayTest: consent })).profiles().profiles[0]?.mayTest
  expect([await mayTest(false), await mayTest(true)]).toEqual([false, true])
})

it('the list of profiles has allowed hosts without a profile, each once', async () => {
  const { profiles, page, memory } = await open('', {
    allowed: new Set([
      ...originPatterns('https://notes.example.com'),
      ...originPatterns('http://localhost'),
      'https://*/*',
    ]),
  })
  expect(profiles().otherSites).toEqual(['*', 'localhost'])
  await page.act({ kind: 'take-back-site', host: 'localhost' })
  expect(profiles().otherSites).toEqual(['*'])
  expect(profiles().notice).toEqual({ kind: 'taken-back', host: 'localhost' })
  expect([...memory.world.allowed]).toEqual([...originPatterns('https://notes.example.com'), 'https://*/*'])
})

it('the list of profiles asks for a site in the click, and reports the answer', async () => {
  const { profiles, page, memory } = await open('')
  void page.act({ kind: 'allow', purpose: 'test', id: 'notes' })
  expect(memory.world.questions).toEqual([
    { patterns: originPatterns('https://mcp.example.com'), purpose: 'test' },
  ])
  await page.act({ kind: 'allow', purpose: 'read', id: 'notes' })
  expect(profiles().notice).toEqual({ kind: 'allowed', host: 'notes.example.com' })
  expect(profiles().profiles[0]?.mayRead).toBe(true)
  memory.world.answer = 'deny'
  await page.act({ kind: 'allow', purpose: 'read', id: 'notes' })
  expect(profiles().notice).toEqual({ kind: 'refused', host: 'notes.example.com' })
})

it('the list of profiles revokes a permission, and says so when the browser keeps it', async () => {
  const { profiles, page, memory } = await open('', {
    allowed: new Set(originPatterns('https://notes.example.com')),
  })
  await page.act({ kind: 'take-back', purpose: 'read', id: 'notes' })
  expect(profiles().notice).toEqual({ kind: 'taken-back', host: 'notes.example.com' })
  expect(profiles().profiles[0]?.mayRead).toBe(false)
  for (const pattern of originPatterns('https://notes.example.com')) memory.world.allowed.add(pattern)
  memory.world.allowed.delete = () => false
  await page.act({ kind: 'take-back', purpose: 'read', id: 'notes' })
  expect(profiles().notice).toEqual({ kind: 'kept', host: 'notes.example.com' })
})

it('the list of profiles deletes a profile only after confirmation', async () => {
  const { profiles, page, memory } = await open('')
  await page.act({ kind: 'delete', id: 'notes' })
  expect(profiles().deleting).toEqual({ id: 'notes', label: 'Notes' })
  await page.act({ kind: 'cancel' })
  expect(profiles().deleting).toBeUndefined()
  await page.act({ kind: 'confirm-delete' })
  expect(memory.world.settings.profiles).toEqual([notes])
  await page.act({ kind: 'delete', id: 'notes' })
  await page.act({ kind: 'confirm-delete' })
  expect(memory.world.settings.profiles).toEqual([])
  expect(profiles().notice).toEqual({ kind: 'deleted', label: 'Notes' })
})

it('the form adds a normalised profile to those that another page stored meanwhile', async () => {
  const { profiles, page, memory } = await open('', { settings: { version: 1, profiles: [] } })
  await page.act({ kind: 'add' })
  expect(profiles().form).toMatchObject({
    isNew: true,
    draft: { id: expect.stringMatching(/./), appUrl: '' },
  })
  memory.world.settings = { version: 1, profiles: [notes] }
  await page.act({ kind: 'save', draft })
  const saved = {
    id: 'new-1',
    label: 'app.example.com',
    appUrl: 'https://app.example.com',
    baseUrl: 'https://mcp.example.com',
    cookieName: undefined,
  }
  expect(memory.world.settings.profiles).toEqual([notes, saved])
  expect(profiles().form).toBeUndefined()
  expect(profiles().notice).toEqual({ kind: 'saved', label: 'app.example.com' })
})

it('the form keeps faulty input', async () => {
  const { profiles, page, memory } = await open('')
  await page.act({ kind: 'add' })
  const wrong = { ...draft, appUrl: 'notes', baseUrl: 'http://mcp.example.com' }
  await page.act({ kind: 'save', draft: wrong })
  expect(profiles().form).toMatchObject({
    draft: wrong,
    faults: { appUrl: 'not-a-url', baseUrl: 'not-secure' },
  })
  expect(memory.world.settings.profiles).toEqual([notes])
})

describe('opened to allow one site', () => {
  const hash = settingsHash('read', 'https://app.example.com', 7)

  it.each([
    ['read', 'app.example.com'],
    ['test', 'mcp.example.com'],
  ] as const)(
    'the prompt page asks at once in the click, to %s, and goes back to the tab',
    async (purpose, host) => {
      const { view, page, memory, returned } = await open(settingsHash(purpose, `https://${host}`, 7))
      expect(view()).toEqual({ kind: 'allow', purpose, host, outcome: 'open' })
      const answered = page.act({ kind: 'allow-asked' })
      expect(memory.world.questions).toEqual([{ patterns: originPatterns(`https://${host}`), purpose }])
      await answered
      expect(returned).toEqual([7])
    },
  )

  it('the prompt page stays open after a refusal', async () => {
    const { view, page, returned } = await open(hash, { answer: 'deny' })
    await page.act({ kind: 'allow-asked' })
    expect(view()).toMatchObject({ kind: 'allow', outcome: 'refused' })
    expect(returned).toEqual([])
  })

  it('the prompt page stays open without a tab to return to, and then shows the profiles', async () => {
    const { view, page } = await open(hash, {}, [])
    await page.act({ kind: 'allow-asked' })
    expect(view()).toMatchObject({ kind: 'allow', outcome: 'allowed' })
    await page.act({ kind: 'return' })
    expect(view().kind).toBe('profiles')
  })

  it('the prompt page returns to the tab without asking', async () => {
    const { page, memory, returned } = await open(hash)
    await page.act({ kind: 'return' })
    expect(returned).toEqual([7])
    expect(memory.world.questions).toEqual([])
  })
})
