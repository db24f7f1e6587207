import { helpPage } from '../../../server/http/pages/help-page.ts'
import { captchaPolicy } from '../../../server/http/pages/captcha.ts'
import { connectPage, connectPolicy } from '../../../server/http/pages/connect-page.ts'
import { connectionsPage } from '../../../server/http/pages/connections-page.ts'
import { deviceEntryPage } from '../../../server/http/pages/device-entry-page.ts'
import { errorPage } from '../../../server/http/pages/error-page.ts'
import { finishedPage, messagePage } from '../../../server/http/pages/finished-page.ts'
import { contentSecurityPolicy, type PageView } from '../../../server/http/pages/layout.ts'
import { loginPage, type LoginView } from '../../../server/http/pages/login-page.ts'
import { changePage, type ChangeView } from '../../../server/http/pages/change-page.ts'
import { tokenPage, type TokenView } from '../../../server/http/pages/token-page.ts'
import { workspacePage, type WorkspaceView } from '../../../server/http/pages/workspace-page.ts'
import { emailCodePage, type EmailCodeView, secondFactorPage } from '../../../server/http/pages/code-page.ts'
import type { Language } from '../../../server/texts/language.ts'
import type { ServedPage } from './page-server.ts'
import {
  captchaSamples,
  connectSample,
  connectionsSample,
  deviceEntrySample,
  deviceSample,
  errorSample,
  finishedSample,
  helpSample,
  inEnglish,
  inGerman,
  loginSample,
  loopbackRequest,
  messageSample,
  plainPolicy,
  requestSample,
  secondFactorSample,
} from './view-sample.ts'

/**
 * A name that imitates the page's own text and tries to break out of its line: markup, quotes, two directions, marks.
 */
const hostileName =
  '<script>alert(1)</script> Claude” — verified by “Anthropic \u202e עוזר 🏴‍☠️ ' +
  `Z\u0351\u0352\u0353\u0354\u0355\u0356 ${'and so on '.repeat(20)}`

const longName = 'W'.repeat(200)
const longSentence = 'W'.repeat(80)
const longApp = 'W'.repeat(60)
const longLabel = `${'w'.repeat(63)}.example`
const longHost = `${'m'.repeat(63)}.${longLabel}`
const longUrl = `https://${longHost}/${'x'.repeat(80)}/mcp`
const twoAddresses = ['w'.repeat(60), '2001:db8:85a3:8d3:1319:8a2e:370:7348'] as const

const emailCodeSample: EmailCodeView = {
  ...loginSample,
  email: 'ada@example.com',
  method: 'both',
  waitSeconds: 60,
}

const scopesSample = [
  { value: 'notes:read', text: 'Read your notes', ticked: true },
  {
    value: 'notes:write',
    text: 'Change and delete your notes, and all that is attached to them',
    ticked: false,
  },
]

const manyWorkspaces = Array.from({ length: 60 }, (_, id) => ({ id: `w${id}`, name: `Workspace ${id}` }))

const workspaceSample: WorkspaceView = {
  ...loginSample,
  workspaces: manyWorkspaces.slice(0, 3),
  chosen: undefined,
}

const changeSample: ChangeView = {
  ...connectionsSample,
  connectionId: 'grant-1',
  client: { name: 'Claude', verifiedHost: 'claude.ai' },
  scopes: scopesSample,
  workspaces: manyWorkspaces.slice(0, 3),
  workspace: manyWorkspaces[1],
}

const unticked = scopesSample.map((scope) => ({ ...scope, ticked: false }))
const tokenFormSample = { scopes: unticked, days: [7, 30, 90] }

const tokenSample: TokenView = {
  ...connectionsSample,
  name: 'Nightly build',
  token: `mcpt_${'aB3-_'.repeat(8)}123`,
  expiresAt: 1_799_000_000,
  back: '/account/connections',
}

function loginPolicy({ look, captcha }: LoginView): string {
  return captcha ? contentSecurityPolicy(look, captchaPolicy(captcha)) : plainPolicy
}

/** Every page in every state that a user can see, by name. */
export function pagesIn(language: Language): ReadonlyMap<string, ServedPage> {
  const { texts } = language
  const permissions = [texts.permissions.ownTools, language.counted(texts.permissions.stayDays, 30)]
  /** Renders a page once for each change of its sample, under the name of the change. */
  const pagesOf = <View extends PageView>(
    page: (view: View) => string,
    sample: View,
    changes: Readonly<Record<string, Partial<View>>>,
    policyOf: (view: View) => string = () => plainPolicy,
  ): [string, ServedPage][] =>
    Object.entries(changes).map(([name, change]) => {
      const view = { ...sample, language, ...change }
      return [name, { document: page(view), contentSecurityPolicy: policyOf(view) }]
    })
  const pages = new Map([
    ...pagesOf(loginPage, loginSample, logins(language, permissions), loginPolicy),
    ...pagesOf(emailCodePage, emailCodeSample, {
      'email-code': {},
      'email-code-error': {
        email: `${'w'.repeat(63)}@${'m'.repeat(63)}.example`,
        method: 'code',
        waitSeconds: 0,
        error: 'Wrong or expired code. Enter the code of the newest mail.',
      },
      'email-link': { method: 'link' },
    }),
    ...pagesOf(secondFactorPage, secondFactorSample, {
      'second-factor': {},
      'second-factor-several': {
        factors: [
          { id: 'factor-1', label: 'Phone' },
          { id: 'factor-2', label: '' },
          { id: 'factor-3', label: longSentence },
        ],
      },
      'second-factor-error': {
        subject: loopbackRequest,
        error: 'Wrong code. Enter the six digits that your authenticator app shows now.',
      },
    }),
    ...pagesOf(workspacePage, workspaceSample, {
      workspace: {},
      'workspace-many': { workspaces: manyWorkspaces, chosen: 'w7' },
      'workspace-unbreakable': {
        subject: loopbackRequest,
        workspaces: [hostileName, longName, longSentence].map((name, id) => ({ id: `${id}`, name })),
      },
      'workspace-unavailable': { workspaces: undefined, error: texts.failures.workspaces_unavailable },
    }),
    ...pagesOf(changePage, changeSample, {
      change: {},
      'change-unbreakable': {
        client: { name: hostileName, verifiedHost: longHost },
        scopes: [longSentence, hostileName].map((text) => ({ value: text.slice(0, 9), text, ticked: true })),
        workspaces: [hostileName, longName].map((name, id) => ({ id: `${id}`, name })),
      },
      'change-unavailable': { workspaces: undefined },
    }),
    ...pagesOf(tokenPage, tokenSample, {
      'token-made': {},
      'token-made-unbreakable': { name: hostileName },
    }),
    ...pagesOf(deviceEntryPage, deviceEntrySample, {
      'device-entry': {},
      'device-entry-link': { userCode: 'WDJB-MJHT', fromLink: true },
      'device-entry-error': {
        userCode: 'WDJB-MJHX',
        error:
          'That code does not match a waiting device. Compare it with your device, or start again there.',
      },
    }),
    ...pagesOf(messagePage, messageSample, { message: {} }),
    ...pagesOf(helpPage, helpSample, {
      help: {},
      'help-unbreakable': { appName: longApp, url: longUrl, isLocal: true },
    }),
    ...connectionPages(),
    ...pagesOf(
      connectPage,
      connectSample,
      {
        connect: {},
        'connect-open': {},
        'connect-unbreakable': {
          appName: longApp,
          appUrl: `https://${longLabel}`,
          url: longUrl,
          challenging: `${longUrl}?sign-in`,
          isLocal: true,
          permissions: ['p'.repeat(128)],
          publicTools: new Set(['t'.repeat(128)]),
        },
      },
      ({ look }) => connectPolicy(look),
    ),
    ...pagesOf(errorPage, errorSample, {
      error: texts.errors.redirect_uri_mismatch,
      'error-with-way-back': { back: { url: 'https://claude.ai/', host: longHost } },
    }),
    ...pagesOf(finishedPage, finishedSample, { finished: {} }),
  ])
  replaceIn(pages, 'connections-asking', '<details class="end-one"', '<details open class="end-one"')
  replaceIn(pages, 'connections-token', '<details class="end-all"', '<details open class="end-all"')
  // Browsers open one of the clients at a time.
  for (const name of ['connect-open', 'connect-unbreakable'])
    replaceIn(pages, name, '<details name="client"', '<details open')
  return pages

  function connectionPages(): [string, ServedPage][] {
    const [first] = connectionsSample.connections
    return pagesOf(connectionsPage, connectionsSample, {
      connections: {},
      'connections-asking': { connections: first ? [first] : [] },
      'connections-empty': { connections: [] },
      'connections-token': { connections: first ? [first] : [], tokens: tokenFormSample },
      'connections-notices': {
        email: undefined,
        notice: { kind: 'ended', clientName: 'Quill' },
        connections: first ? [first] : [],
        ended: [
          { client: { name: 'Cursor' }, endedAt: 1_790_900_000, end: 'key_used_twice' },
          {
            client: { name: 'Claude', verifiedHost: 'claude.ai' },
            endedAt: 1_790_800_000,
            end: 'signed_out_elsewhere',
          },
        ],
      },
      'connections-unbreakable': {
        appName: longApp,
        email: `${'w'.repeat(64)}@${'m'.repeat(63)}.example`,
        notice: { kind: 'ended', clientName: longName },
        connections: connectionsSample.connections.map(({ grant, runsOnWeb }) => ({
          grant: { ...grant, workspace: { id: 'w', name: longName } },
          canChange: true,
          lastUse: { usedAt: grant.createdAt, address: 'w'.repeat(60), tool: longName },
          twoAddresses: { addresses: twoAddresses, at: grant.createdAt },
          runsOnWeb,
          replays: { count: 12, lastAt: grant.createdAt, addresses: twoAddresses },
          client: { name: hostileName, verifiedHost: longHost },
          permissions: [longSentence, longSentence],
          returnsTo: [longLabel, 'x'.repeat(60)],
        })),
        waiting: [
          {
            grant: { id: 'w', createdAt: 1_790_900_000 },
            client: { name: longName },
            isDevice: true,
            permissions: [longSentence],
          },
        ],
        more: 12,
        ended: [{ client: { name: longName }, endedAt: 1_790_900_000, end: 'key_used_twice' }],
      },
    })
  }
}

function logins(language: Language, permissions: string[]): Readonly<Record<string, Partial<LoginView>>> {
  return {
    login: { subject: { ...requestSample, permissions } },
    'login-error': {
      subject: loopbackRequest,
      email: 'ada@example.com',
      error: 'That email and password don’t match an account. Check both and try again.',
    },
    'login-social-only': {
      password: false,
      social: [
        { id: 'google', label: 'Google' },
        { id: 'azure', label: 'Microsoft' },
      ],
    },
    'login-scopes': { scopes: scopesSample },
    'login-scopes-social': { password: false, scopes: scopesSample },
    'login-scopes-every-way': { emailMethod: 'both', sso: true, scopes: scopesSample, error: longSentence },
    'login-scopes-unbreakable': {
      scopes: [hostileName, longSentence].map((text) => ({ value: text.slice(0, 9), text, ticked: true })),
    },
    'login-hcaptcha': { captcha: captchaSamples.hcaptcha },
    'login-turnstile': { subject: loopbackRequest, captcha: captchaSamples.turnstile },
    'login-long-name': {
      subject: {
        ...requestSample,
        client: { name: hostileName },
        redirectHost: `claude.ai.sign-in.${'a-rather-long-label-'.repeat(2)}.example.net`,
      },
    },
    'login-unbreakable': {
      subject: {
        ...loopbackRequest,
        client: { name: longName, verifiedHost: longHost },
        permissions: [longSentence],
      },
      social: [{ id: 'sso', label: longApp }],
      appName: longLabel,
      appUrl: `https://${longLabel}`,
      error: longSentence,
    },
    'login-every-way': { emailMethod: 'code', sso: true },
    'login-sso-only': {
      password: false,
      social: [],
      sso: true,
      email: 'ada@other.example',
      error: language.texts.failures.unknown_domain,
    },
    'login-device': {
      action: '/oauth/device',
      subject: { ...deviceSample, permissions, asked: language.ago(0, 120) },
    },
    'login-device-error': {
      action: '/oauth/device',
      subject: { ...deviceSample, client: { name: longName }, address: twoAddresses[1] },
      error: 'Wrong email or password. Check both and try again.',
    },
    'login-account': { action: '/account/connections', subject: { kind: 'account' } },
    'login-token': { action: '/account/connections', subject: { kind: 'account', tokenName: hostileName } },
  }
}

function replaceIn(pages: Map<string, ServedPage>, name: string, found: string, replacement: string): void {
  const page = pages.get(name)
  if (page) pages.set(name, { ...page, document: page.document.replaceAll(found, replacement) })
}

/** All of them in English, and in German below `de/`: used by the browser tests. */
export const pageSamples: ReadonlyMap<string, ServedPage> = new Map([
  ...pagesIn(inEnglish),
  ...Array.from(pagesIn(inGerman), ([name, page]): [string, ServedPage] => [`de/${name}`, page]),
])
