import { countWithin, limitsOf } from '../../core/limits/attempt-limit.ts'
import { type BrowserBinding, BrowserSeal } from '../../core/sign-in/browser-seal.ts'
import { findDeviceByUserCode } from '../../core/authorization/device-authorization.ts'
import { userCodes } from '../../core/limits/limit-table.ts'
import { normaliseUserCode } from '../../core/authorization/user-code.ts'
import { page, retryHeaders } from '../response.ts'
import type { Endpoint } from '../endpoint.ts'
import { renderLogin } from './draw.ts'
import { type DeviceEntryView, deviceEntryPage } from '../pages/device-entry-page.ts'
import { LoginError } from './login-error.ts'
import {
  bindingOf,
  findSignIn,
  loginPaths,
  type LoginPorts,
  sourceOf,
  type LoginVisit,
  visitorOf,
} from './login-subject.ts'
import { createLoginEndpoint, sealErrors } from './sign-in-form.ts'

const entrySeal = new BrowserSeal<'entry'>('drawbridge device entry')

/**
 * `/oauth/device` (RFC 8628 section 3.3): GET asks for the code that a device shows; a code in the URL is only filled in. POST
 * takes the code and shows the client, what it requests, and the ways to sign in. Signing in there approves the device.
 */
export function createDevicePageEndpoint(ports: LoginPorts): Endpoint {
  return createLoginEndpoint('device', ports, showEntry, takeEntry)
}

function showEntry(visit: LoginVisit): Response {
  const given = new URL(visit.request.url).searchParams.get('user_code')
  const userCode = given === null ? undefined : normaliseUserCode(given)
  return renderEntry(visit, bindingOf(visit), userCode === undefined ? {} : { userCode, fromLink: true })
}

async function takeEntry(fields: URLSearchParams, visit: LoginVisit): Promise<Response> {
  const { request, ports } = visit
  const opening = entrySeal.open(fields.get('form'), ports.cookies.csrf.read(request), ports)
  if (opening.kind !== 'open') throw new LoginError(sealErrors[opening.kind])
  return takeCode(fields.get('user_code') ?? '', opening.binding, visit)
}

async function takeCode(typed: string, binding: BrowserBinding, visit: LoginVisit): Promise<Response> {
  const { context, language, ports } = visit
  const texts = language.texts.device
  const userCode = normaliseUserCode(typed)
  // Not counted: text that cannot be a code is not a guess.
  if (userCode === undefined) {
    // Codes have no vowels: eight letters with one in them are not a code we issued.
    const isLikeOne = typed.replaceAll(/[^\p{L}]/gu, '').length === 8
    const error = isLikeOne ? texts.unknown : texts.malformed
    return renderEntry(visit, binding, { userCode: typed.slice(0, 60), error }, 400)
  }
  const visitor = visitorOf(binding, visit)
  const limits = limitsOf(userCodes, sourceOf(visitor))
  const { waitSeconds } = await countWithin(limits, ports)
  if (waitSeconds > 0) {
    context.report('device_code_limited')
    const error = language.counted(language.texts.tooManyAttempts, Math.ceil(waitSeconds / 60))
    return renderEntry(visit, binding, { userCode, error }, 429, waitSeconds)
  }
  const device = await findDeviceByUserCode(userCode, ports)
  if (!device) {
    context.report('device_code_unknown')
    return renderEntry(visit, binding, { userCode, error: texts.unknown }, 400)
  }
  const purpose = { kind: 'device', language: language.tag, device, userCode } as const
  const found = await findSignIn(purpose, visitor, visit)
  if (!found) throw new LoginError('device_client_unknown')
  context.report('device_code_taken', { client_id: device.clientId })
  return renderLogin(found)
}

function renderEntry(
  { language, ports }: LoginVisit,
  binding: BrowserBinding,
  part: Pick<DeviceEntryView, 'userCode' | 'fromLink' | 'error'>,
  status = 200,
  waitSeconds?: number,
): Response {
  const html = deviceEntryPage({
    language,
    action: `${ports.urls.basePath}${loginPaths.device}`,
    form: entrySeal.seal('entry', binding, ports),
    ...ports.app,
    ...part,
  })
  return page(html, { language, look: ports.app.look }, status, {
    'set-cookie': ports.cookies.csrf.write(binding),
    ...retryHeaders(status, waitSeconds),
  })
}
