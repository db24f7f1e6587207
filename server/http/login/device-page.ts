import { countWithin, limitsOf } from '../../core/limits/attempt-limit.ts'
import { openForBrowser, sealForBrowser } from '../../core/sign-in/browser-seal.ts'
import { findDeviceByUserCode } from '../../core/authorization/device-authorization.ts'
import { userCodes } from '../../core/limits/limit-table.ts'
import type { BrowserBinding } from '../../core/sign-in/sign-in-transaction.ts'
import { normaliseUserCode } from '../../core/authorization/user-code.ts'
import { page } from '../response.ts'
import type { Endpoint } from '../endpoint.ts'
import { sealErrors, takeOwnForm } from './decide.ts'
import { renderLogin } from './draw.ts'
import { type DeviceEntryView, deviceEntryPage } from '../pages/device-entry-page.ts'
import { loginHandler, signInErrorPage } from './error-page.ts'
import {
  bindingOf,
  findSubject,
  type Login,
  type LoginPorts,
  loginPaths,
  sourceOf,
  visitorOf,
} from './login-subject.ts'

const entryUse = 'drawbridge device entry'
const entryTtlSeconds = 3600

/**
 * `/oauth/device` (RFC 8628 section 3.3): GET asks for the code that a device shows; a code in the URL is only filled in. POST
 * takes the code and shows the client, what it requests, and the ways to sign in. Signing in there approves the device.
 */
export function createDevicePageEndpoint(ports: LoginPorts): Endpoint {
  return {
    path: `${ports.urls.basePath}${loginPaths.device}`,
    cors: 'none',
    methods: {
      GET: loginHandler(ports, showEntry),
      POST: loginHandler(ports, (login) => takeOwnForm(login, takeEntry)),
    },
  }
}

function showEntry(login: Login): Response {
  const binding = bindingOf(login)
  const given = new URL(login.request.url).searchParams.get('user_code')
  const userCode = given === null ? undefined : normaliseUserCode(given)
  return renderEntry(userCode === undefined ? {} : { userCode, fromLink: true }, binding, 200, login)
}

async function takeEntry(fields: URLSearchParams, login: Login): Promise<Response> {
  const terms = { use: entryUse, binding: login.cookies.csrf.read(login.request) }
  const opening = openForBrowser(fields.get('form') ?? '', terms, login.signIn)
  if (opening.kind !== 'open') return signInErrorPage(sealErrors[opening.kind], login)
  return takeCode(fields.get('user_code') ?? '', opening.binding, login)
}

const unknownCode =
  'No device is waiting with this code. Check it for typos. If it is correct, it has expired: start again on your device.'

async function takeCode(typed: string, binding: BrowserBinding, login: Login): Promise<Response> {
  const userCode = normaliseUserCode(typed)
  // Not counted: text that cannot be a code is not a guess.
  if (userCode === undefined) {
    // Codes have no vowels: eight letters with one in them are not a code we issued.
    const isLikeOne = typed.replaceAll(/[^\p{L}]/gu, '').length === 8
    const error = isLikeOne ? unknownCode : 'A code has eight letters. Type it as shown on your device.'
    return renderEntry({ userCode: typed.slice(0, 60), error }, binding, 400, login)
  }
  const visitor = visitorOf(binding, login)
  const limits = limitsOf(userCodes, sourceOf(visitor))
  const { waitSeconds } = await countWithin(limits, login.signIn)
  if (waitSeconds > 0) {
    login.context.report('device_code_limited')
    const minutes = Math.ceil(waitSeconds / 60)
    const error = `Too many attempts. Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again.`
    return renderEntry({ userCode, error }, binding, 429, login, { 'retry-after': String(waitSeconds) })
  }
  const device = await findDeviceByUserCode(userCode, { ...login.codes, devices: login.devices })
  if (!device) {
    login.context.report('device_code_unknown')
    return renderEntry({ userCode, error: unknownCode }, binding, 400, login)
  }
  const subject = await findSubject({ kind: 'device', device, userCode }, visitor, login)
  if (!subject) return signInErrorPage('device_client_unknown', login)
  login.context.report('device_code_taken', { client_id: device.clientId })
  return renderLogin(subject, {}, login)
}

function renderEntry(
  part: Pick<DeviceEntryView, 'userCode' | 'fromLink' | 'error'>,
  binding: BrowserBinding,
  status: number,
  { urls, signIn, cookies, appName, appUrl, links }: Login,
  headers: Record<string, string> = {},
): Response {
  const expiresAt = signIn.runtime.now() + entryTtlSeconds
  const html = deviceEntryPage({
    action: `${urls.basePath}${loginPaths.device}`,
    form: sealForBrowser('entry', { use: entryUse, binding, expiresAt }, signIn),
    appName,
    appUrl,
    links,
    ...part,
  })
  return page(html, status, { 'set-cookie': cookies.csrf.write(binding), ...headers })
}
