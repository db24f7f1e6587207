import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { ProviderError, type ProviderCapabilities } from '../../core/session/session-provider.ts'
import { createWorkspaceList } from '../../core/workspaces/workspace-list.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  capabilitiesSample,
  signedIn,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

// The pages of a server as they were before users could choose: the style is left out, and so are sealed values, but for their length.
const samples = JSON.parse(
  await readFile(new URL('../../../tests/support/pages/login-page-samples.json', import.meta.url), 'utf8'),
) as Record<string, string>

interface Case {
  capabilities?: Partial<ProviderCapabilities>
  signUpUrl?: string
  open: (login: LoginFixture, browser: Browser) => Promise<Visit>
}

const authorize =
  (parameters: Record<string, string> = {}): Case['open'] =>
  (login, browser) => {
    const url = login.authorizeUrl()
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return browser.visit(url)
  }

const cases: Record<string, Case> = {
  'without a scope': { open: authorize() },
  'with the scopes of every client': { open: authorize({ scope: 'mcp offline_access openid' }) },
  'with an unknown scope': { open: authorize({ scope: 'mcp notes:unknown' }) },
  'in German, with a hint': { open: authorize({ ui_locales: 'de', login_hint: 'ada@example.com' }) },
  'with a link to sign up': { signUpUrl: 'https://app.example.com/join', open: authorize() },
  'with mail and single sign-on': {
    capabilities: { email: 'both', sso: true },
    open: authorize({ scope: 'mcp' }),
  },
  'with social sign-in alone': { capabilities: { password: false }, open: authorize() },
  'after a wrong password': {
    open: async (login, browser) =>
      browser.submit(await login.open(browser), 'password', { ...adasPassword, password: 'wrong' }),
  },
  'for a device': {
    open: async (login, browser) => {
      const device = await login.startDevice()
      const entry = await browser.visit('http://localhost:8787/oauth/device')
      return browser.submit(entry, 'user_code', { user_code: device.user_code })
    },
  },
  'for the connections': {
    open: async (_login, browser) => browser.visit('http://localhost:8787/account/connections'),
  },
}

function shownOf({ html }: Visit): string {
  return html
    .replaceAll(/<style>.*?<\/style>/gs, '<style></style>')
    .replaceAll(
      /(name="transaction"\s+value=")([^"]*)"/g,
      (_all, before: string, sealed: string) => `${before}${sealed.length}"`,
    )
    .replaceAll(/\b[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}\b/g, 'CODE')
}

it.each(Object.entries(cases))(
  'without a choice the login page is byte for byte as before: %s',
  async (name, each) => {
    const workspaces = createWorkspaceList(
      async () => [{ id: 'sales', name: 'Sales' }],
      () => {},
    )
    const provider = welcomingProvider({
      capabilities: async () => capabilitiesSample(each.capabilities),
      passwordSignIn: async ({ password }) => {
        if (password === 'wrong') throw new ProviderError('invalid_credentials', 'no')
        return signedIn()
      },
    })
    const login = await createLoginFixture(provider, {
      workspaces,
      ...(each.signUpUrl !== undefined && { signUpUrl: each.signUpUrl }),
    })
    expect(shownOf(await each.open(login, login.browser()))).toBe(samples[name])
  },
)
