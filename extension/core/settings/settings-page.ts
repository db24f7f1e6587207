import type { SettingsBrowser } from '../ports.ts'
import { type Profile, putProfile, type Settings } from '../profile.ts'
import { type SettingsRequest, parseSettingsHash } from '../settings-hash.ts'
import type {
  AllowOutcome,
  ProfileForm,
  ProfileView,
  Purpose,
  SettingsAction,
  SettingsNotice,
  SettingsView,
} from './settings-view.ts'
import { type ProfileDraft, checkProfile } from './profile-form.ts'
import { hostOf, originPatterns } from '../site.ts'

type AllowRequest = SettingsRequest & { kind: 'allow' }

/**
 * The settings page without its user interface: `show` receives every view. Reads settings again before each change, so
 * that two open pages do not undo each other's changes.
 */
export class SettingsPage {
  readonly #browser: SettingsBrowser
  readonly #show: (view: SettingsView) => void
  #asked: AllowRequest | undefined
  #form: ProfileForm | undefined
  #deleting: Profile | undefined
  #profiles: readonly Profile[] = []

  constructor(browser: SettingsBrowser, show: (view: SettingsView) => void) {
    this.#browser = browser
    this.#show = show
  }

  /** Shows what the page's address requests in its `hash`. */
  async start(hash: string): Promise<void> {
    const request = parseSettingsHash(hash)
    this.#closeForms()
    this.#asked = request.kind === 'allow' ? request : undefined
    if (this.#asked) return this.#showAllow(this.#asked, 'open')
    await this.#load()
    if (request.kind !== 'new-profile') return this.#showProfiles()
    const known = this.#profiles.find(({ appUrl }) => appUrl === request.appUrl)
    await this.#openForm(known ?? { appUrl: request.appUrl })
  }

  /** Call in the click handler: requests that need a user gesture go out before the first await. */
  async act(action: SettingsAction): Promise<void> {
    await (this.#actions[action.kind] as (action: SettingsAction) => unknown)(action)
  }

  async #load(): Promise<Settings> {
    const settings = await this.#browser.loadSettings()
    this.#profiles = settings.profiles
    return settings
  }

  async #showProfiles(notice: SettingsNotice = { kind: 'none' }): Promise<void> {
    await this.#load()
    const [views, allowed] = await Promise.all([
      Promise.all(this.#profiles.map((profile) => viewOf(this.#browser, profile))),
      this.#browser.allowed(),
    ])
    this.#show({
      kind: 'profiles',
      profiles: views,
      otherSites: sitesBeside(this.#profiles, allowed),
      form: this.#form,
      deleting: this.#deleting && { id: this.#deleting.id, label: this.#deleting.label },
      notice,
    })
  }

  #openForm(draft: Partial<Profile>): Promise<void> {
    const { id = crypto.randomUUID(), label = '', appUrl = '', baseUrl = '', cookieName = '' } = draft
    const isNew = !this.#profiles.some((profile) => profile.id === id)
    this.#form = {
      isNew,
      draft: { id, label, appUrl, baseUrl, cookieName },
      faults: {},
    }
    return this.#showProfiles()
  }

  #closeForms(): void {
    this.#form = undefined
    this.#deleting = undefined
  }

  async #save(draft: ProfileDraft): Promise<void> {
    const checked = checkProfile(draft)
    if (checked.kind === 'invalid') {
      if (this.#form) this.#form = { ...this.#form, draft, faults: checked.faults }
      return this.#showProfiles()
    }
    await this.#browser.saveSettings(putProfile(await this.#load(), checked.profile))
    this.#closeForms()
    await this.#showProfiles({ kind: 'saved', label: checked.profile.label })
  }

  async #takeBack(patterns: readonly string[], host: string): Promise<void> {
    await this.#browser.forget(patterns)
    // With permission for all sites, this one stays allowed.
    const isKept = await this.#browser.mayRead(patterns, 'read')
    await this.#showProfiles({ kind: isKept ? 'kept' : 'taken-back', host })
  }

  async #answer(request: AllowRequest): Promise<void> {
    const granted = await this.#browser.requestRead(originPatterns(request.url), request.purpose)
    if (granted && (await goBack(this.#browser, request))) return
    this.#showAllow(request, granted ? 'allowed' : 'refused')
  }

  #showAllow({ purpose, url }: AllowRequest, outcome: AllowOutcome): void {
    this.#show({ kind: 'allow', purpose, host: hostOf(url), outcome })
  }

  readonly #actions: {
    [Kind in SettingsAction['kind']]: (action: SettingsAction & { kind: Kind }) => unknown
  } = {
    add: () => this.#openForm({}),
    edit: ({ id }) => this.#openForm(this.#profiles.find((profile) => profile.id === id) ?? {}),
    cancel: () => {
      this.#closeForms()
      return this.#showProfiles()
    },
    save: ({ draft }) => this.#save(draft),
    delete: ({ id }) => {
      this.#deleting = this.#profiles.find((profile) => profile.id === id)
      return this.#showProfiles()
    },
    'confirm-delete': async () => {
      if (this.#deleting === undefined) return
      const { id, label } = this.#deleting
      const settings = await this.#load()
      const profiles = settings.profiles.filter((profile) => profile.id !== id)
      await this.#browser.saveSettings({ ...settings, profiles })
      this.#closeForms()
      await this.#showProfiles({ kind: 'deleted', label })
    },
    allow: async ({ id, purpose }) => {
      const url = urlOf(this.#profiles, id, purpose)
      const granted = await this.#browser.requestRead(originPatterns(url), purpose)
      await this.#showProfiles({ kind: granted ? 'allowed' : 'refused', host: hostOf(url) })
    },
    'take-back': ({ id, purpose }) => {
      const url = urlOf(this.#profiles, id, purpose)
      return this.#takeBack(originPatterns(url), hostOf(url))
    },
    'take-back-site': async ({ host }) => {
      const allowed = await this.#browser.allowed()
      await this.#takeBack(
        allowed.filter((pattern) => hostOfPattern(pattern) === host),
        host,
      )
    },
    'allow-asked': () => this.#asked && this.#answer(this.#asked),
    return: async () => {
      if (this.#asked && (await goBack(this.#browser, this.#asked))) return
      this.#asked = undefined
      await this.#showProfiles()
    },
  }
}

async function goBack(browser: SettingsBrowser, { tabId }: AllowRequest): Promise<boolean> {
  return tabId !== undefined && (await browser.returnTo(tabId))
}

function urlOf(profiles: readonly Profile[], id: string, purpose: Purpose): string | undefined {
  const profile = profiles.find((profile) => profile.id === id)
  return purpose === 'read' ? profile?.appUrl : profile?.baseUrl
}

async function viewOf(browser: SettingsBrowser, profile: Profile): Promise<ProfileView> {
  const [mayRead, mayTest] = await Promise.all([
    browser.mayRead(originPatterns(profile.appUrl), 'read'),
    profile.baseUrl !== undefined && browser.mayRead(originPatterns(profile.baseUrl), 'test'),
  ])
  return { ...profile, mayRead, mayTest }
}

/** Returns the host of a match pattern: `https://app.example.com/*`. */
function hostOfPattern(pattern: string): string {
  return pattern.replace(/^[^:]*:\/\/|\/\*$/g, '')
}

function sitesBeside(profiles: readonly Profile[], allowed: readonly string[]): string[] {
  const own = new Set(
    profiles.flatMap(({ appUrl, baseUrl }) => [...originPatterns(appUrl), ...originPatterns(baseUrl)]),
  )
  return [...new Set(allowed.filter((pattern) => !own.has(pattern)).map(hostOfPattern))].sort()
}
