import type { Captcha } from '../../../core/session-provider.ts'
import { captchaPolicy } from '../captcha.ts'
import { errorPage } from '../error-page.ts'
import type { ErrorView } from '../error-page.ts'
import { finishedPage } from '../finished-page.ts'
import type { FinishedView } from '../finished-page.ts'
import { contentSecurityPolicy, pageContentSecurityPolicy } from '../layout.ts'
import { loginPage } from '../login-page.ts'
import type { LoginView } from '../login-page.ts'
import { secondFactorPage } from '../second-factor-page.ts'
import type { SecondFactorView } from '../second-factor-page.ts'
import type { ServedPage } from './page-server.ts'

/** A login view with every part present: a client with a verified host, a password form, one social method. */
export const loginSample: LoginView = {
  action: '/oauth/authorize',
  transaction: 'v1.k1.c2VhbGVkLXRyYW5zYWN0aW9u',
  client: { name: 'Claude', uri: 'https://claude.ai/', verifiedHost: 'claude.ai' },
  redirectHost: 'claude.ai',
  returnsToThisComputer: false,
  permissions: ['Use this app’s tools as you', 'Stay connected for 30 days'],
  password: true,
  social: [{ id: 'google', label: 'Google' }],
  appUrl: 'https://notes.example.com',
}

/** A login view for a program that registered itself and returns to this computer. */
export const loopbackSample: LoginView = {
  ...loginSample,
  client: { name: 'VS Code' },
  redirectHost: '127.0.0.1',
  returnsToThisComputer: true,
}

/** A second-factor view of an account with one authenticator app. */
export const secondFactorSample: SecondFactorView = {
  action: '/oauth/authorize',
  transaction: 'v1.k1.c2VhbGVkLXRyYW5zYWN0aW9u',
  pendingId: 'cGVuZGluZy1zZWNvbmQ',
  client: loginSample.client,
  redirectHost: 'claude.ai',
  returnsToThisComputer: false,
  permissions: loginSample.permissions,
  factors: [{ id: 'factor-1', label: 'Phone' }],
  appUrl: 'https://notes.example.com',
}

/** Every captcha there is, by vendor. The keys are the ones that the vendors give out for tests. */
export const captchaSamples: Readonly<Record<Captcha['kind'], Captcha>> = {
  hcaptcha: { kind: 'hcaptcha', siteKey: '10000000-ffff-ffff-ffff-000000000001' },
  turnstile: { kind: 'turnstile', siteKey: '1x00000000000000000000AA' },
}

/** A name made to speak in the page's own voice and to climb out of its line: markup, quotes, two directions, marks. */
const hostileName =
  '<script>alert(1)</script> Claude” — verified by “Anthropic \u202e עוזר 🏴‍☠️ ' +
  `Z\u0351\u0352\u0353\u0354\u0355\u0356 ${'and so on '.repeat(20)}`

/** An error view with every part present. */
export const errorSample: ErrorView = {
  title: 'This sign-in link can’t be used',
  message:
    'The client asked to send you back to an address that it never registered, so nothing was allowed.',
  nextStep:
    'Go back to the client, remove this connection there and add it again. If it fails once more, send the line below to the client’s support.',
  requestId: '01JQ8Z5T7N2M4C9V',
  appUrl: 'https://notes.example.com',
  detail: 'redirect_uri https://claude.example/api/mcp/auth_callback is not registered for this client',
}

/** A finished view for a client behind a private-use scheme. */
export const finishedSample: FinishedView = {
  clientName: 'Cursor',
  continueUrl:
    'cursor://anysphere.cursor-mcp/oauth/callback?code=c0de&state=xyz&iss=https%3A%2F%2Fmcp.example.com',
  redirectHost: 'cursor',
}

function plain(document: string): ServedPage {
  return { document, contentSecurityPolicy: pageContentSecurityPolicy }
}

function withCaptcha(view: LoginView & { captcha: Captcha }): ServedPage {
  return {
    document: loginPage(view),
    contentSecurityPolicy: contentSecurityPolicy(captchaPolicy(view.captcha)),
  }
}

/** Every page in every state that a person can meet, by name: what the browser tests and the pictures go through. */
export const pageSamples: ReadonlyMap<string, ServedPage> = new Map([
  ['login', plain(loginPage(loginSample))],
  ['login-loopback', plain(loginPage(loopbackSample))],
  [
    'login-error',
    plain(
      loginPage({
        ...loopbackSample,
        email: 'ada@example.com',
        error: 'That email and password don’t match an account. Check both and try again.',
      }),
    ),
  ],
  ['login-one-button', plain(loginPage({ ...loginSample, password: false }))],
  [
    'login-social-only',
    plain(
      loginPage({
        ...loginSample,
        password: false,
        social: [
          { id: 'google', label: 'Google' },
          { id: 'azure', label: 'Microsoft' },
        ],
      }),
    ),
  ],
  ['login-hcaptcha', withCaptcha({ ...loginSample, captcha: captchaSamples.hcaptcha })],
  ['login-turnstile', withCaptcha({ ...loopbackSample, captcha: captchaSamples.turnstile })],
  [
    'login-captcha-error',
    withCaptcha({
      ...loginSample,
      captcha: captchaSamples.hcaptcha,
      email: 'ada@example.com',
      error: 'The check that you are a person is missing. Complete it, enter your password and sign in.',
    }),
  ],
  [
    'login-long-name',
    plain(
      loginPage({
        ...loginSample,
        client: { name: hostileName },
        redirectHost: `claude.ai.sign-in.${'a-rather-long-label-'.repeat(2)}.example.net`,
      }),
    ),
  ],
  [
    'login-unbreakable',
    plain(
      loginPage({
        ...loopbackSample,
        client: { name: 'W'.repeat(200), verifiedHost: `${'m'.repeat(63)}.${'w'.repeat(63)}.example` },
        permissions: ['W'.repeat(80)],
        social: [{ id: 'sso', label: 'W'.repeat(60) }],
        appUrl: `https://${'w'.repeat(63)}.example`,
        error: 'W'.repeat(80),
      }),
    ),
  ],
  ['second-factor', plain(secondFactorPage(secondFactorSample))],
  [
    'second-factor-several',
    plain(
      secondFactorPage({
        ...secondFactorSample,
        factors: [
          { id: 'factor-1', label: 'Phone' },
          { id: 'factor-2', label: '' },
          { id: 'factor-3', label: 'W'.repeat(80) },
        ],
      }),
    ),
  ],
  [
    'second-factor-error',
    plain(
      secondFactorPage({
        ...secondFactorSample,
        client: loopbackSample.client,
        redirectHost: '127.0.0.1',
        returnsToThisComputer: true,
        error: 'That code is not right. Enter the six digits that your authenticator app shows now.',
      }),
    ),
  ],
  ['error', plain(errorPage(errorSample))],
  ['finished', plain(finishedPage(finishedSample))],
  [
    'finished-denied',
    plain(
      finishedPage({
        ...finishedSample,
        continueUrl: 'cursor://anysphere.cursor-mcp/oauth/callback?error=access_denied&state=xyz',
        denied: true,
      }),
    ),
  ],
])
