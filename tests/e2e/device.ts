import type { Person } from './person.ts'
import { postForm, register, type Tokens } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

/** The response to a device when it starts (RFC 8628 section 3.2). */
export interface StartedDevice {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

/** A public client for devices without a browser. */
export interface DeviceClient {
  id: string
  start(scope?: string): Promise<StartedDevice>
  poll(device: StartedDevice): Promise<Response>
  /** Returns the token endpoint's response to a poll: an error code, or `tokens`. */
  pollResult(device: StartedDevice): Promise<string>
  /** Fetches the tokens of an approved device. */
  takeTokens(device: StartedDevice): Promise<Tokens>
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Registers a client called `name` without a redirect URI. */
export async function registerDeviceClient(server: ServerProcess, name: string): Promise<DeviceClient> {
  const metadata = {
    client_name: name,
    redirect_uris: undefined,
    grant_types: [deviceGrant, 'refresh_token'],
  }
  const { client_id: id } = await register(server, metadata)
  const client: DeviceClient = {
    id,
    async start(scope = 'mcp') {
      const fields = { client_id: id, scope, resource: server.mcpUrl }
      const answer = await postForm(server, '/oauth/device_authorization', fields)
      if (answer.status !== 200) throw new Error(`Starting a device answered ${answer.status}.`)
      return (await answer.json()) as StartedDevice
    },
    poll: ({ device_code: deviceCode }) =>
      postForm(server, '/oauth/token', {
        client_id: id,
        grant_type: deviceGrant,
        device_code: deviceCode,
        resource: server.mcpUrl,
      }),
    async pollResult(device) {
      const answer = await client.poll(device)
      const { error = 'tokens' } = (await answer.json()) as { error?: string }
      return error
    },
    async takeTokens(device) {
      const answer = await client.poll(device)
      if (answer.status !== 200) throw new Error(`The poll answered ${answer.status}.`)
      return (await answer.json()) as Tokens
    },
  }
  return client
}

/** Types the code of a device at `verificationUri`, and signs in there. Returns the final page. */
export async function allowDevice(
  { browser, email, password }: Person,
  {
    user_code: userCode,
    verification_uri: verificationUri,
  }: Pick<StartedDevice, 'user_code' | 'verification_uri'>,
): Promise<string> {
  const entry = await browser.visit(verificationUri)
  const login = await browser.submit(entry, 'user_code', { user_code: userCode })
  const { html } = await browser.submit(login, 'password', { email, password })
  return html
}
