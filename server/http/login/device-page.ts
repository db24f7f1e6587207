import { countWithin, limitsOf } from '../../core/limits/attempt-limit.ts'
import { openForBrowser, sealForBrowser } from '../../core/sign-in/browser-seal.ts'
import { findDeviceByUserCode } from '../../core/authorization/device-authorization.ts'
import { userCodes } from '../../core/limits/limit-table.ts'
import type { BrowserBinding } from '../../core/sign-in/sign-in-transaction.ts'
import { normaliseUserCode } from '../../core/authorization/user-code.ts'
import { page, retryHeaders } from '../response.ts'
import type { Endpoint } from '../endpoint.ts'
import { renderLogin } from './draw.ts'
import { type DeviceEntryView, deviceEntryPage } from '../pages/device-entry-page.ts'
import { LoginError, loginHandler, type Visit } from './login-error.ts'
import {
  bindingOf,
  findSubject,
  type LoginPorts,
  loginPaths,
  noteAttempt,
  sourceOf,
  visitorOf,
} from './login-subject.ts'
import { readOwnForm, sealErrors, takeLoginForm } from './sign-in-form.ts'

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
      GET: loginHandler(ports, (visit) => showEntry(visit, ports)),
      POST: loginHandler(ports, async (visit) => {
        const fields = await readOwnForm(visit.request, ports)
        return fields.has('transaction')
          ? takeLoginForm(fields, visit, ports)
          : takeEntry(fields, visit, ports)
      }),
    },
  }
}

function showEntry(visit: Visit, ports: LoginPorts): Response {
  const binding = bindingOf(visit, ports)
  const given = new URL(visit.request.url).searchParams.get('user_code')
  const userCode = given === null ? undefined : normaliseUserCode(given)
  return renderEntry(userCode === undefined ? {} : { userCode, fromLink: true }, binding, 200, visit, ports)
}

async function takeEntry(fields: URLSearchParams, visit: Visit, ports: LoginPorts): Promise<Response> {
  const terms = { use: entryUse, binding: ports.cookies.csrf.read(visit.request) }
  const opening = openForBrowser(fields.get('form') ?? '', terms, ports.signIn)
  if (opening.kind !== 'open') throw new LoginError(sealErrors[opening.kind])
  return takeCode(fields.get('user_code') ?? '', opening.binding, visit, ports)
}

async function takeCode(
  typed: string,
  binding: BrowserBinding,
  visit: Visit,
  ports: LoginPorts,
): Promise<Response> {
  const { context, language } = visit
  const texts = language.texts.device
  const userCode = normaliseUserCode(typed)
  // Not counted: text that cannot be a code is not a guess.
  if (userCode === undefined) {
    // Codes have no vowels: eight letters with one in them are not a code we issued.
    const isLikeOne = typed.replaceAll(/[^\p{L}]/gu, '').length === 8
    const error = isLikeOne ? texts.unknown : texts.malformed
    return renderEntry({ userCode: typed.slice(0, 60), error }, binding, 400, visit, ports)
  }
  const visitor = visitorOf(binding, visit, ports)
  const limits = limitsOf(userCodes, sourceOf(visitor))
  const { waitSeconds } = await countWithin(limits, ports.signIn)
  if (waitSeconds > 0) {
    context.report('device_code_limited')
    const error = language.counted(language.texts.tooManyAttempts, Math.ceil(waitSeconds / 60))
    return renderEntry({ userCode, error }, binding, 429, visit, ports, waitSeconds)
  }
  const device = await findDeviceByUserCode(userCode, { ...ports.codes, devices: ports.devices })
  if (!device) {
    context.report('device_code_unknown')
    return renderEntry({ userCode, error: texts.unknown }, binding, 400, visit, ports)
  }
  const subject = await findSubject(
    { kind: 'device', language: language.tag, device, userCode },
    visitor,
    ports,
  )
  if (!subject) throw new LoginError('device_client_unknown')
  noteAttempt(subject, context)
  context.report('device_code_taken', { client_id: device.clientId })
  return renderLogin(subject, {}, visit, ports)
}

function renderEntry(
  part: Pick<DeviceEntryView, 'userCode' | 'fromLink' | 'error'>,
  binding: BrowserBinding,
  status: number,
  { language }: Visit,
  { urls, signIn, cookies, app }: LoginPorts,
  waitSeconds?: number,
): Response {
  const expiresAt = signIn.runtime.now() + entryTtlSeconds
  const html = deviceEntryPage({
    language,
    action: `${urls.basePath}${loginPaths.device}`,
    form: sealForBrowser('entry', { use: entryUse, binding, expiresAt }, signIn),
    ...app,
    ...part,
  })
  return page(html, { language, look: app.look }, status, {
    'set-cookie': cookies.csrf.write(binding),
    ...retryHeaders(status, waitSeconds),
  })
}
