import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpClient } from '../http/http-client.ts'
import type { RemoteLegPorts } from './remote-leg.ts'

/** What every leg is made with. */
export interface LegConfig {
  /** The MCP endpoint. */
  serverUrl: string
  /** Sent with every request. What the protocol itself sets wins over them. */
  headers: Readonly<Record<string, string>>
  /** How long one message is tried again, in milliseconds. */
  retryMs: number
}

/** What every leg needs from outside. The client stays open when a leg is closed. */
export interface LegPorts extends RemoteLegPorts {
  http: HttpClient
  runtime: Pick<Runtime, 'now' | 'sleep' | 'randomBytes'>
}
