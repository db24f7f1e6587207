import type { Captcha } from '../../../server/core/session/session-provider.ts'
import { english, german } from '../../../server/texts/built-in.ts'
import { Language } from '../../../server/texts/language.ts'
import type { ConnectView } from '../../../server/http/pages/connect-page.ts'
import type { ConnectionsView } from '../../../server/http/pages/connections-page.ts'
import type { DeviceEntryView } from '../../../server/http/pages/device-entry-page.ts'
import type { DeviceView, RequestView } from '../../../server/http/pages/sign-in-subject.ts'
import { contentSecurityPolicy } from '../../../server/http/pages/layout.ts'
import { createLook, type Look } from '../../../server/http/pages/look.ts'
import type { ErrorView } from '../../../server/http/pages/error-page.ts'
import type { FinishedView, MessageView } from '../../../server/http/pages/finished-page.ts'
import type { HelpView } from '../../../server/http/pages/help-page.ts'
import type { LoginView } from '../../../server/http/pages/login-page.ts'
import type { SecondFactorView } from '../../../server/http/pages/code-page.ts'

/** The look without a logo and an accent. */
export const plainLook: Look = createLook({ appName: 'Example Notes' })

/** The policy of pages that look so. */
export const plainPolicy: string = contentSecurityPolicy(plainLook)
/** The language of every sample. */
export const inEnglish: Language = new Language('en', english)

export const inGerman: Language = new Language('de', german)

/** The web app in every sample. */
const app = { look: plainLook, appName: 'Example Notes', appUrl: 'https://notes.example.com' }

const permissions = ['Use this app’s tools as you', 'Stay connected for 30 days']

/** A request of a client with a verified host. */
export const requestSample: RequestView = {
  kind: 'authorization',
  client: { name: 'Claude', uri: 'https://claude.ai/', verifiedHost: 'claude.ai' },
  redirectHost: 'claude.ai',
  returnsToThisComputer: false,
  permissions,
}

/** A request of a self-registered program that returns to this computer. */
export const loopbackRequest: RequestView = {
  ...requestSample,
  client: { name: 'VS Code' },
  redirectHost: '127.0.0.1',
  returnsToThisComputer: true,
}

/** A device with a client's metadata document. */
export const deviceSample: DeviceView = {
  kind: 'device',
  isLocal: false,
  client: { name: 'Drawbridge bridge', describedBy: 'bridge.example.com' },
  userCode: 'WDJB-MJHT',
  address: '203.0.113.7',
  asked: '2 minutes ago',
  permissions,
}

/** A login view with all parts: a client with a verified host, a password form, one social method. */
export const loginSample: LoginView = {
  language: inEnglish,
  ...app,
  action: '/oauth/authorize',
  transaction: 'v1.k1.c2VhbGVkLXRyYW5zYWN0aW9u',
  subject: requestSample,
  password: true,
  social: [{ id: 'google', label: 'Google' }],
  scopes: [],
  sso: false,
}

/** A login view for {@link loopbackRequest}. */
export const loopbackSample: LoginView = { ...loginSample, subject: loopbackRequest }

/** A second-factor view of an account with one authenticator app. */
export const secondFactorSample: SecondFactorView = {
  language: inEnglish,
  ...app,
  action: '/oauth/authorize',
  transaction: 'v1.k1.c2VhbGVkLXRyYW5zYWN0aW9u',
  subject: requestSample,
  factors: [{ id: 'factor-1', label: 'Phone' }],
}

/** Every captcha by vendor. The keys are the vendors' test keys. */
export const captchaSamples: Readonly<Record<Captcha['kind'], Captcha>> = {
  hcaptcha: { kind: 'hcaptcha', siteKey: '10000000-ffff-ffff-ffff-000000000001' },
  turnstile: { kind: 'turnstile', siteKey: '1x00000000000000000000AA' },
}

/** An error view with all parts. */
export const errorSample: ErrorView = {
  look: plainLook,
  language: inEnglish,
  title: 'This sign-in link can’t be used',
  message:
    'The client asked to send you back to an address that it never registered, so nothing was allowed.',
  nextStep:
    'Go back to the client, remove this connection there and add it again. If it fails once more, send the line below to the client’s support.',
  requestId: '01JQ8Z5T7N2M4C9V',
  app,
  detail: 'redirect_uri https://claude.example/api/mcp/auth_callback is not registered for this client',
}

/** A finished view for a client behind a private-use scheme. */
export const finishedSample: FinishedView = {
  look: plainLook,
  language: inEnglish,
  clientName: 'Cursor',
  continueUrl:
    'cursor://anysphere.cursor-mcp/oauth/callback?code=c0de&state=xyz&iss=https%3A%2F%2Fmcp.example.com',
  redirectHost: 'cursor',
}

/** The empty page that asks for the code of a device. */
export const deviceEntrySample: DeviceEntryView = {
  language: inEnglish,
  ...app,
  action: '/oauth/device',
  form: 'v1.k1.c2VhbGVkLWZvcm0',
}

/** The final page of a sign-in for a device. */
export const messageSample: MessageView = {
  look: plainLook,
  language: inEnglish,
  title: 'Your device can connect now',
  bridge: 'lowered',
  message:
    'It usually connects within seconds. If it takes more than 2 minutes, you have to start again on the device.',
  nextStep: 'Go back to your device. You can close this page.',
  link: { url: '/account/connections', label: 'See or end your connections' },
}

/** The connections of a user with three: a client with a host, a program of this computer, a device. */
export const connectionsSample: ConnectionsView = {
  language: inEnglish,
  ...app,
  action: '/account/connections',
  connectPath: '/mcp',
  form: 'v1.k1.c2VhbGVkLWZvcm0',
  email: 'ada@example.com',
  notice: undefined,
  connections: [
    {
      grant: {
        id: 'grant-1',
        createdAt: 1_790_000_000,
        expiresAt: 1_792_592_000,
        workspace: { id: 'team-7', name: 'Team Seven' },
      },
      client: { name: 'Claude', verifiedHost: 'claude.ai' },
      permissions: [
        'Use the tools of the web app as you: read and change what you can there',
        'Order and cancel in your name',
      ],
      returnsTo: ['claude.ai'],
      lastUse: { usedAt: 1_791_000_000, address: '203.0.113.7', tool: 'list_notes' },
      twoAddresses: undefined,
      runsOnWeb: true,
      canChange: true,
      replays: undefined,
    },
    {
      grant: { id: 'grant-2', createdAt: 1_790_500_000, expiresAt: 1_793_092_000, workspace: undefined },
      client: { name: 'VS Code' },
      permissions: ['Use the tools of the web app as you: read and change what you can there'],
      returnsTo: ['127.0.0.1', 'vscode.dev', 'insiders.vscode.dev'],
      lastUse: { usedAt: 1_790_990_000, address: '2001:db8:85a3:8d3:1319:8a2e:370:7348', tool: undefined },
      twoAddresses: undefined,
      runsOnWeb: false,
      canChange: false,
      replays: undefined,
    },
    {
      grant: { id: 'grant-3', createdAt: 1_790_999_000, expiresAt: 1_793_591_000, workspace: undefined },
      client: { name: 'Drawbridge bridge on the build server', describedBy: 'bridge.example.com' },
      permissions: [],
      returnsTo: [],
      lastUse: undefined,
      twoAddresses: undefined,
      runsOnWeb: false,
      canChange: false,
      replays: undefined,
    },
  ],
  waiting: [],
  more: 0,
  ended: [],
  now: 1_791_000_100,
}

/** The page for people whose client does not connect. */
export const helpSample: HelpView = {
  language: inEnglish,
  ...app,
  links: { supportUrl: 'https://notes.example.com/support' },
  url: 'https://mcp.example.com/mcp',
  isLocal: false,
  startUrl: 'https://mcp.example.com/',
}

/** The page of a publicly reachable server. */
export const connectSample: ConnectView = {
  language: inEnglish,
  ...app,
  url: 'https://mcp.example.com/mcp',
  challenging: 'https://mcp.example.com/mcp?sign-in',
  isLocal: false,
  connectionsPath: '/account/connections',
  helpPath: '/help',
  permissions: ['Read your notes', 'Add and delete notes'],
  publicTools: new Set(),
}
