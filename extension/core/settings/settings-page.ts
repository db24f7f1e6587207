import { discoverEndpoint } from '../endpoint/endpoint-discovery.ts'
import type { SettingsBrowser } from '../ports.ts'
import { allProfiles, putProfile } from '../profile.ts'
import { type SettingsRequest, parseSettingsHash } from './settings-hash.ts'
import { applyImport, exportSettings, planImport } from './settings-file.ts'
import type {
  AllowOutcome,
  ProfileForm,
  ProfilesView,
  ProfileView,
  Purpose,
  SettingsAction,
  SettingsNotice,
  SettingsView,
  SiteAccess,
} from './settings-view.ts'
import { type ProfileDraft, checkProfile, removeProfile } from './profile-form.ts'
import type { Profile, Settings } from '../settings.ts'
import { hostOf, originPatterns } from '../site.ts'

/** The page of settings without its screen. */
export interface SettingsPage {
  /** Shows what `hash`, that of the page's address, asks for. */
  start(hash: string): Promise<void>
  /** Must be called in the handler of the click: what needs a gesture is asked before anything is awaited. */
  act(action: SettingsAction): Promise<void>
  /** The profiles as the content of a file. Nothing in it is secret. */
  exported(): Promise<string>
}

type AllowRequest = SettingsRequest & { kind: 'allow' }

/**
 * Makes the page of settings: `show` gets every view. Settings are read anew before each change, so that two open pages do
 * not undo each other's. `newId` names new profiles.
 */
export function createSettingsPage(
  browser: SettingsBrowser,
  show: (view: SettingsView) => void,
  newId: () => string = () => crypto.randomUUID(),
): SettingsPage {
  let asked: AllowRequest | undefined
  let form: ProfileForm | undefined
  let deleting: Profile | undefined
  let importing: ProfilesView['importing']
  let profiles: readonly Profile[] = []

  const load = async (): Promise<Settings> => {
    const settings = await browser.loadSettings()
    profiles = allProfiles(settings, browser.builtInProfile)
    return settings
  }

  const showProfiles = async (notice: SettingsNotice = { kind: 'none' }): Promise<void> => {
    const settings = await load()
    const [views, allowed, shortcut] = await Promise.all([
      Promise.all(profiles.map((profile) => viewOf(browser, profile, settings))),
      browser.allowed(),
      browser.shortcut(),
    ])
    show({
      kind: 'profiles',
      profiles: views,
      otherSites: sitesBeside(profiles, allowed),
      form,
      deleting: deleting && { id: deleting.id, label: deleting.label },
      importing,
      notice,
      shortcut,
    })
  }

  const openForm = (draft: Partial<Profile>): Promise<void> => {
    const { id = newId(), label = '', appUrl = '', baseUrl = '', cookieName = '' } = draft
    const isNew = !profiles.some((profile) => profile.id === id)
    form = { isNew, draft: { id, label, appUrl, baseUrl, cookieName }, faults: {}, lookup: { kind: 'none' } }
    return showProfiles()
  }

  const closeForms = (): void => {
    form = undefined
    deleting = undefined
    importing = undefined
  }

  const save = async (draft: ProfileDraft): Promise<void> => {
    const checked = checkProfile(draft)
    if (checked.kind === 'invalid') {
      if (form) form = { ...form, draft, faults: checked.faults }
      return showProfiles()
    }
    await browser.saveSettings(putProfile(await load(), checked.profile))
    closeForms()
    await showProfiles({ kind: 'saved', label: checked.profile.label })
  }

  /** Asks the server that was typed, else that of the app's own site. A name that somebody typed stays. */
  const lookUp = async (draft: ProfileDraft): Promise<void> => {
    if (form === undefined) return
    const running: ProfileForm = { ...form, draft, lookup: { kind: 'running' } }
    form = running
    await showProfiles()
    const url = draft.baseUrl.trim() || draft.appUrl.trim()
    const lookup = await discoverEndpoint(browser, url)
    if (form !== running) return
    const label = draft.label.trim() || ('name' in lookup && lookup.name) || ''
    const filled = lookup.kind === 'found' ? { ...draft, baseUrl: lookup.baseUrl, label } : draft
    form = { ...running, draft: filled, lookup }
    await showProfiles()
  }

  const takeBack = async (patterns: readonly string[], host: string): Promise<void> => {
    await browser.forget(patterns)
    // Whoever allowed all sites, or has a team's build, still allows this one.
    const isKept = await browser.mayRead(patterns, 'read')
    await showProfiles({ kind: isKept ? 'kept' : 'taken-back', host })
  }

  const answer = async (request: AllowRequest): Promise<void> => {
    const granted = await browser.requestRead(originPatterns(request.url), request.purpose)
    if (granted && (await goBack(request))) return
    showAllow(request, granted ? 'allowed' : 'refused')
  }

  const goBack = async ({ tabId }: AllowRequest): Promise<boolean> =>
    tabId !== undefined && (await browser.returnTo(tabId))

  const showAllow = ({ purpose, url }: AllowRequest, outcome: AllowOutcome): void => {
    show({ kind: 'allow', purpose, host: hostOf(url), outcome })
  }

  const urlOf = (id: string, purpose: Purpose): string | undefined => {
    const profile = profiles.find((profile) => profile.id === id)
    return purpose === 'read' ? profile?.appUrl : profile?.baseUrl
  }

  const actions: {
    [Kind in SettingsAction['kind']]: (action: SettingsAction & { kind: Kind }) => unknown
  } = {
    add: () => openForm({}),
    edit: ({ id }) => openForm(profiles.find((profile) => profile.id === id) ?? {}),
    cancel: () => {
      closeForms()
      return showProfiles()
    },
    save: ({ draft }) => save(draft),
    'look-up': ({ draft }) => lookUp(draft),
    async 'allow-look-up'({ draft }) {
      await browser.requestRead(originPatterns(draft.baseUrl.trim() || draft.appUrl.trim()), 'read')
      await lookUp(draft)
    },
    delete: ({ id }) => {
      deleting = profiles.find((profile) => profile.id === id)
      return showProfiles()
    },
    async 'confirm-delete'() {
      if (deleting === undefined) return
      const { id, label } = deleting
      await browser.saveSettings(removeProfile(await load(), id))
      closeForms()
      await showProfiles({ kind: 'deleted', label })
    },
    async allow({ id, purpose }) {
      const url = urlOf(id, purpose)
      const granted = await browser.requestRead(originPatterns(url), purpose)
      await showProfiles({ kind: granted ? 'allowed' : 'refused', host: hostOf(url) })
    },
    'take-back': ({ id, purpose }) => {
      const url = urlOf(id, purpose)
      return takeBack(originPatterns(url), hostOf(url))
    },
    'take-back-site': async ({ host }) => {
      const allowed = await browser.allowed()
      await takeBack(
        allowed.filter((pattern) => hostOfPattern(pattern) === host),
        host,
      )
    },
    async import({ file }) {
      const plan = planImport(await load(), browser.builtInProfile, file, newId)
      if (plan.kind === 'refused') {
        const position = 'position' in plan ? plan.position : 0
        return showProfiles({ kind: 'not-imported', reason: plan.reason, position })
      }
      const { changes, kept } = plan
      if (changes.length === 0)
        return showProfiles({ kind: 'not-imported', reason: 'nothing-new', position: 0 })
      importing = { changes, kept: kept.map(({ label }) => label) }
      await showProfiles()
    },
    async 'confirm-import'() {
      if (importing === undefined) return
      const { changes } = importing
      await browser.saveSettings(applyImport(await load(), changes))
      closeForms()
      await showProfiles({ kind: 'imported', count: changes.length })
    },
    'allow-asked': () => asked && answer(asked),
    async return() {
      if (asked && (await goBack(asked))) return
      asked = undefined
      await showProfiles()
    },
  }

  return {
    async start(hash) {
      const request = parseSettingsHash(hash)
      closeForms()
      asked = request.kind === 'allow' ? request : undefined
      if (asked) return showAllow(asked, 'open')
      await load()
      if (request.kind !== 'new-profile') return showProfiles()
      const known = profiles.find(({ appUrl }) => appUrl === request.appUrl)
      await openForm(known ?? { appUrl: request.appUrl })
    },
    async act(action) {
      await (actions[action.kind] as (action: SettingsAction) => unknown)(action)
    },
    exported: async () => exportSettings(await browser.loadSettings()),
  }
}

async function viewOf(browser: SettingsBrowser, profile: Profile, settings: Settings): Promise<ProfileView> {
  const { appUrl, baseUrl } = profile
  return {
    ...profile,
    builtIn: !settings.profiles.includes(profile),
    app: await accessTo(browser, appUrl, 'read'),
    server: baseUrl === undefined ? undefined : await accessTo(browser, baseUrl, 'test'),
  }
}

async function accessTo(browser: SettingsBrowser, url: string, purpose: Purpose): Promise<SiteAccess> {
  const mayRead = await browser.mayRead(originPatterns(url), purpose)
  return { host: hostOf(url), state: mayRead ? 'allowed' : 'not-allowed' }
}

/** The host of a match pattern: `https://app.example.com/*`. */
function hostOfPattern(pattern: string): string {
  return pattern.replace(/^[^:]*:\/\/|\/\*$/g, '')
}

function sitesBeside(profiles: readonly Profile[], allowed: readonly string[]): string[] {
  const own = new Set(
    profiles.flatMap(({ appUrl, baseUrl }) => [...originPatterns(appUrl), ...originPatterns(baseUrl)]),
  )
  return [...new Set(allowed.filter((pattern) => !own.has(pattern)).map(hostOfPattern))].sort()
}
