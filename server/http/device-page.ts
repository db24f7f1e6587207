import { addressBlock } from '../core/address-block.ts'
import { openForBrowser, sealForBrowser } from '../core/browser-seal.ts'
import { findDeviceByUserCode } from '../core/device-authorization.ts'
import { hashSecret } from '../core/seal.ts'
import { type BrowserBinding, createBrowserBinding } from '../core/sign-in-transaction.ts'
import { normaliseUserCode } from '../core/user-code.ts'
import { page } from './answer.ts'
import type { Endpoint, RequestContext } from './endpoint.ts'
import { findSubject, type LoginPorts, visitorOf } from './login.ts'
import { readOwnForm, takeLoginForm } from './login-form.ts'
import { renderLogin } from './login-render.ts'
import { loginPaths } from './login-view.ts'
import { type DeviceEntryView, deviceEntryPage } from './pages/device-entry-page.ts'
import { strandedPage, strandedWhenClientUnavailable } from './stranded-page.ts'

const entryUse = 'drawbridge device entry'
const entryTtlSeconds = 3600

// A code has 34 random bits and lives for 15 minutes. With a thousand devices waiting, all addresses together guess one of
// them within one of 40 thousand windows (RFC 8628 section 5.1).
const windowSeconds = 600
const mostOfAddress = 10
const mostOfAll = 600

/**
 * `/oauth/device` (RFC 8628 section 3.3): GET asks for the code that a device shows, and a code in the address is only filled
 * in. POST takes the code and shows who asks and for what, with the ways to sign in; signing in there is what allows.
 */
export function createDevicePageEndpoint(ports: LoginPorts): Endpoint {
  return {
    path: `${ports.urls.basePath}${loginPaths.device}`,
    cors: 'none',
    methods: {
      GET: (request) => showEntry(request, ports),
      POST: strandedWhenClientUnavailable((request, context) => takeForm(request, context, ports), ports),
    },
  }
}

function showEntry(request: Request, ports: LoginPorts): Response {
  const binding =
    ports.cookies.binding.read(request) ?? createBrowserBinding(ports.signIn.runtime.randomBytes)
  const given = new URL(request.url).searchParams.get('user_code')
  const userCode = given === null ? undefined : normaliseUserCode(given)
  return renderEntry(userCode === undefined ? {} : { userCode, fromLink: true }, binding, 200, ports)
}

async function takeForm(request: Request, context: RequestContext, ports: LoginPorts): Promise<Response> {
  const fields = await readOwnForm(request, ports)
  if (typeof fields === 'string') return strandedPage(fields, context, ports)
  if (fields.has('transaction')) return takeLoginForm(request, fields, context, ports)
  const binding = ports.cookies.binding.read(request)
  const opening = openForBrowser(fields.get('form') ?? '', { use: entryUse, binding }, ports.signIn)
  if (opening.kind === 'foreign_browser') return strandedPage('foreign_browser', context, ports)
  if (opening.kind !== 'open' || binding === undefined) {
    const reason = opening.kind === 'expired' ? 'transaction_expired' : 'transaction_invalid'
    return strandedPage(reason, context, ports)
  }
  return takeCode(request, fields.get('user_code') ?? '', binding, context, ports)
}

async function takeCode(
  request: Request,
  typed: string,
  binding: BrowserBinding,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const userCode = normaliseUserCode(typed)
  // What cannot be a code guesses nothing.
  if (userCode === undefined) {
    const error = 'A code has eight letters. Type it as your device shows it.'
    return renderEntry({ userCode: typed.slice(0, 60), error }, binding, 400, ports)
  }
  const waitSeconds = await countCode(context.address, ports)
  if (waitSeconds !== undefined) {
    context.report('device_code_limited')
    const minutes = Math.ceil(waitSeconds / 60)
    const error = `Too many codes were tried. Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again.`
    return renderEntry({ userCode, error }, binding, 429, ports, { 'retry-after': String(waitSeconds) })
  }
  const device = await findDeviceByUserCode(userCode, { ...ports.codes, devices: ports.devices })
  if (!device) {
    context.report('device_code_unknown')
    const error =
      'No device waits with that code. Compare it with your device; if it is the same, it has expired: start again there.'
    return renderEntry({ userCode, error }, binding, 400, ports)
  }
  const visitor = visitorOf(request, binding, context, ports)
  const subject = await findSubject({ kind: 'device', device, userCode }, visitor, ports)
  if (!subject) return strandedPage('device_client_unknown', context, ports)
  context.report('device_code_taken', { client_id: device.clientId })
  return renderLogin(subject, {}, context, ports)
}

/**
 * Counts a code before anybody looks for it, right or wrong: otherwise the right one would come through however many were
 * tried before. Answers the seconds to wait when that is too many, of one address (of IPv6 a /64) or of all.
 */
async function countCode(address: string | undefined, { signIn }: LoginPorts): Promise<number | undefined> {
  const { store, runtime } = signIn
  const now = runtime.now()
  const limits = [
    ...(address === undefined
      ? []
      : [{ key: `device code ${hashSecret(`device code ${addressBlock(address)}`)}`, most: mostOfAddress }]),
    { key: 'device code', most: mostOfAll },
  ]
  for (const { key, most } of limits) {
    const { count, windowEndsAt } = await store.countAttempt(key, windowSeconds, now)
    if (count > most) return Math.max(1, windowEndsAt - now)
  }
  return undefined
}

function renderEntry(
  part: Pick<DeviceEntryView, 'userCode' | 'fromLink' | 'error'>,
  binding: BrowserBinding,
  status: number,
  { urls, signIn, cookies, appName, appUrl }: LoginPorts,
  headers: Record<string, string> = {},
): Response {
  const expiresAt = signIn.runtime.now() + entryTtlSeconds
  const html = deviceEntryPage({
    action: `${urls.basePath}${loginPaths.device}`,
    form: sealForBrowser('entry', { use: entryUse, binding, expiresAt }, signIn),
    appName,
    appUrl,
    ...part,
  })
  return page(html, status, { 'set-cookie': cookies.binding.write(binding), ...headers })
}
