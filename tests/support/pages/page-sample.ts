import { helpPage as renderHelpPage } from '../../../server/http/pages/help-page.ts'
import type { Captcha } from '../../../server/core/session/session-provider.ts'
import { captchaPolicy } from '../../../server/http/pages/captcha.ts'
import {
  connectPage as renderConnectPage,
  connectPolicy,
  type ConnectView,
} from '../../../server/http/pages/connect-page.ts'
import {
  connectionsPage as renderConnectionsPage,
  type ConnectionView,
} from '../../../server/http/pages/connections-page.ts'
import { deviceEntryPage as renderDeviceEntryPage } from '../../../server/http/pages/device-entry-page.ts'
import { errorPage as renderErrorPage } from '../../../server/http/pages/error-page.ts'
import {
  finishedPage as renderFinishedPage,
  messagePage as renderMessagePage,
} from '../../../server/http/pages/finished-page.ts'
import { contentSecurityPolicy, type PageView } from '../../../server/http/pages/layout.ts'
import { loginPage as renderLoginPage, type LoginView } from '../../../server/http/pages/login-page.ts'
import {
  type EmailCodeView,
  emailCodePage as renderEmailCodePage,
} from '../../../server/http/pages/email-code-page.ts'
import { secondFactorPage as renderSecondFactorPage } from '../../../server/http/pages/second-factor-page.ts'
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
  inEnglish,
  inGerman,
  loginSample,
  loopbackRequest,
  loopbackSample,
  helpSample,
  messageSample,
  requestSample,
  secondFactorSample,
  plainPolicy,
} from './view-sample.ts'

/**
 * A name that imitates the page's own text and tries to break out of its line: markup, quotes, two directions, marks.
 */
const hostileName =
  '<script>alert(1)</script> Claude” — verified by “Anthropic \u202e עוזר 🏴‍☠️ ' +
  `Z\u0351\u0352\u0353\u0354\u0355\u0356 ${'and so on '.repeat(20)}`

function plain(document: string): ServedPage {
  return { document, contentSecurityPolicy: plainPolicy }
}

const sampleTwoAddresses: ConnectionView['twoAddresses'] = {
  addresses: ['203.0.113.7', '198.51.100.9'],
  at: connectionsSample.now - 7200,
}

const emailCodeSample: EmailCodeView = {
  ...loginSample,
  email: 'ada@example.com',
  method: 'both',
  waitSeconds: 60,
}

function inLanguage<View extends PageView>(page: (view: View) => string, language: Language) {
  return (view: View): string => page({ ...view, language })
}

/** Every page in every state that a user can see, by name. */
export function pagesIn(language: Language): ReadonlyMap<string, ServedPage> {
  const loginPage = inLanguage(renderLoginPage, language)
  const secondFactorPage = inLanguage(renderSecondFactorPage, language)
  const emailCodePage = inLanguage(renderEmailCodePage, language)
  const deviceEntryPage = inLanguage(renderDeviceEntryPage, language)
  const connectionsPage = inLanguage(renderConnectionsPage, language)
  const connectPage = inLanguage(renderConnectPage, language)
  const errorPage = inLanguage(renderErrorPage, language)
  const finishedPage = inLanguage(renderFinishedPage, language)
  const helpPage = inLanguage(renderHelpPage, language)
  const messagePage = inLanguage(renderMessagePage, language)
  const connect = (view: ConnectView, isOpen = false): ServedPage => {
    const document = connectPage(view)
    return {
      // Browsers open one of the clients at a time.
      document: isOpen ? document.replaceAll('<details name="client"', '<details open') : document,
      contentSecurityPolicy: connectPolicy(view.look),
    }
  }
  const withCaptcha = (view: LoginView & { captcha: Captcha }): ServedPage => ({
    document: loginPage(view),
    contentSecurityPolicy: contentSecurityPolicy(view.look, captchaPolicy(view.captcha)),
  })
  const { ownTools, stayDays } = language.texts.permissions
  const permissions = [ownTools, language.counted(stayDays, 30)]
  return new Map([
    ['login', plain(loginPage({ ...loginSample, subject: { ...requestSample, permissions } }))],
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
        error: 'The captcha is missing. Complete it, enter your password and sign in.',
      }),
    ],
    [
      'login-long-name',
      plain(
        loginPage({
          ...loginSample,
          subject: {
            ...requestSample,
            client: { name: hostileName },
            redirectHost: `claude.ai.sign-in.${'a-rather-long-label-'.repeat(2)}.example.net`,
          },
        }),
      ),
    ],
    [
      'login-unbreakable',
      plain(
        loginPage({
          ...loopbackSample,
          subject: {
            ...loopbackRequest,
            client: { name: 'W'.repeat(200), verifiedHost: `${'m'.repeat(63)}.${'w'.repeat(63)}.example` },
            permissions: ['W'.repeat(80)],
          },
          social: [{ id: 'sso', label: 'W'.repeat(60) }],
          appName: `${'w'.repeat(63)}.example`,
          appUrl: `https://${'w'.repeat(63)}.example`,
          error: 'W'.repeat(80),
        }),
      ),
    ],
    ['login-mail', plain(loginPage({ ...loginSample, emailMethod: 'both' }))],
    ['login-every-way', plain(loginPage({ ...loginSample, emailMethod: 'code', sso: true }))],
    [
      'login-social-first',
      plain(
        loginPage({
          ...loopbackSample,
          emailMethod: 'code',
          sso: true,
          order: ['social', 'sso', 'email', 'password'],
        }),
      ),
    ],
    [
      'login-sso-only',
      plain(
        loginPage({
          ...loginSample,
          password: false,
          social: [],
          sso: true,
          email: 'ada@other.example',
          error: language.texts.failures.unknown_domain,
        }),
      ),
    ],
    [
      'login-mail-only',
      plain(loginPage({ ...loopbackSample, password: false, emailMethod: 'link', social: [] })),
    ],
    ['email-code', plain(emailCodePage(emailCodeSample))],
    [
      'email-code-error',
      plain(
        emailCodePage({
          ...emailCodeSample,
          email: `${'w'.repeat(63)}@${'m'.repeat(63)}.example`,
          method: 'code',
          waitSeconds: 0,
          error: 'Wrong or expired code. Enter the code of the newest mail.',
        }),
      ),
    ],
    ['email-link', plain(emailCodePage({ ...emailCodeSample, method: 'link' }))],
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
          subject: loopbackRequest,
          error: 'Wrong code. Enter the six digits that your authenticator app shows now.',
        }),
      ),
    ],
    [
      'login-device',
      plain(
        loginPage({
          ...loginSample,
          action: '/oauth/device',
          subject: { ...deviceSample, permissions, asked: language.ago(0, 120) },
        }),
      ),
    ],
    [
      'login-device-error',
      plain(
        loginPage({
          ...loginSample,
          action: '/oauth/device',
          subject: {
            ...deviceSample,
            client: { name: 'W'.repeat(200) },
            address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
          },
          error: 'Wrong email or password. Check both and try again.',
        }),
      ),
    ],
    [
      'login-account',
      plain(loginPage({ ...loginSample, action: '/account/connections', subject: { kind: 'account' } })),
    ],
    [
      'second-factor-account',
      plain(
        secondFactorPage({
          ...secondFactorSample,
          action: '/account/connections',
          subject: { kind: 'account' },
        }),
      ),
    ],
    ['device-entry', plain(deviceEntryPage(deviceEntrySample))],
    [
      'device-entry-link',
      plain(deviceEntryPage({ ...deviceEntrySample, userCode: 'WDJB-MJHT', fromLink: true })),
    ],
    [
      'device-entry-error',
      plain(
        deviceEntryPage({
          ...deviceEntrySample,
          userCode: 'WDJB-MJHX',
          error:
            'That code does not match a waiting device. Compare it with your device, or start again there.',
        }),
      ),
    ],
    ['message', plain(messagePage(messageSample))],
    ['help', plain(helpPage(helpSample))],
    [
      'help-unbreakable',
      plain(
        helpPage({
          ...helpSample,
          appName: 'W'.repeat(60),
          url: `https://${'m'.repeat(63)}.${'w'.repeat(63)}.example/${'x'.repeat(80)}/mcp`,
          isLocal: true,
        }),
      ),
    ],
    ['connections', plain(connectionsPage(connectionsSample))],
    [
      'connections-asking',
      plain(
        connectionsPage(connectionsSample).replace(
          '<details class="end-one"',
          '<details open class="end-one"',
        ),
      ),
    ],
    ['connections-empty', plain(connectionsPage({ ...connectionsSample, connections: [] }))],
    [
      'connections-notices',
      plain(
        connectionsPage({
          ...connectionsSample,
          email: undefined,
          notice: {
            kind: 'ended',
            clientName: 'Quill',
          },
          connections: connectionsSample.connections.slice(0, 1),
          ended: [
            { client: { name: 'Cursor' }, endedAt: 1_790_900_000, end: 'key_used_twice' },
            {
              client: { name: 'Claude', host: 'claude.ai' },
              endedAt: 1_790_800_000,
              end: 'signed_out_elsewhere',
            },
          ],
        }),
      ),
    ],
    [
      'connections-at-once',
      plain(
        connectionsPage({
          ...connectionsSample,
          connections: connectionsSample.connections
            .slice(0, 2)
            .map((connection) => Object.assign({}, connection, { twoAddresses: sampleTwoAddresses })),
        }),
      ),
    ],
    [
      'connections-unbreakable',
      plain(
        connectionsPage({
          ...connectionsSample,
          appName: 'W'.repeat(60),
          email: `${'w'.repeat(64)}@${'m'.repeat(63)}.example`,
          notice: { kind: 'ended', clientName: 'W'.repeat(100) },
          connections: connectionsSample.connections.map(({ id, createdAt, expiresAt, runsOnWeb }) => ({
            id,
            createdAt,
            lastUse: { at: createdAt, address: 'w'.repeat(60), tool: 'm'.repeat(200) },
            twoAddresses: {
              addresses: ['w'.repeat(60), '2001:db8:85a3:8d3:1319:8a2e:370:7348'],
              at: createdAt,
            },
            runsOnWeb,
            replays: {
              count: 12,
              lastAt: createdAt,
              addresses: ['w'.repeat(60), '2001:db8:85a3:8d3:1319:8a2e:370:7348'],
            },
            expiresAt,
            client: { name: hostileName, host: `${'m'.repeat(63)}.${'w'.repeat(63)}.example` },
            permissions: ['W'.repeat(80), 'm'.repeat(80)],
            returnsTo: [`${'w'.repeat(63)}.example`, 'x'.repeat(60)],
          })),
          waiting: [
            {
              id: 'w',
              client: { name: 'W'.repeat(200) },
              isDevice: true,
              permissions: ['W'.repeat(80)],
              allowedAt: 1_790_900_000,
            },
          ],
          more: 12,
          ended: [{ client: { name: 'W'.repeat(200) }, endedAt: 1_790_900_000, end: 'key_used_twice' }],
        }),
      ),
    ],
    ['connect', connect(connectSample)],
    ['connect-open', connect(connectSample, true)],
    [
      'connect-local',
      connect(
        {
          ...connectSample,
          url: 'http://localhost:8787/mcp',
          isLocal: true,
          publicTools: new Set(['search_notes', 'opening_hours']),
        },
        true,
      ),
    ],
    [
      'connect-unbreakable',
      connect(
        {
          ...connectSample,
          appName: 'W'.repeat(60),
          appUrl: `https://${'w'.repeat(63)}.example`,
          url: `https://${'m'.repeat(63)}.${'w'.repeat(63)}.example/${'x'.repeat(80)}/mcp`,
          challenging: `https://${'m'.repeat(63)}.${'w'.repeat(63)}.example/${'x'.repeat(80)}/mcp?sign-in`,
          isLocal: true,
          connectionsPath: '/account/connections',
          permissions: ['p'.repeat(128)],
          publicTools: new Set(['t'.repeat(128)]),
        },
        true,
      ),
    ],
    ['error', plain(errorPage({ ...errorSample, ...language.texts.errors.redirect_uri_mismatch }))],
    [
      'error-with-way-back',
      plain(
        errorPage({
          ...errorSample,
          back: {
            url: 'https://claude.ai/',
            host: `${'m'.repeat(63)}.${'w'.repeat(63)}.example`,
          },
        }),
      ),
    ],
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
}

/** All of them in English, and in German below `de/`: used by the browser tests. */
export const pageSamples: ReadonlyMap<string, ServedPage> = new Map([
  ...pagesIn(inEnglish),
  ...Array.from(pagesIn(inGerman), ([name, page]): [string, ServedPage] => [`de/${name}`, page]),
])
