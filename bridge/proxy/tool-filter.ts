import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { intercepted, type Send, type Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { toolPage } from '../transport/tool-headers.ts'
import { isErrorResponse } from '../transport/withheld-error.ts'
import { paramsOf, refuse } from './client-calls.ts'
import type { ClientContext } from './pending-call.ts'
import { matchesGlob } from '@drawbridge/shared/glob.ts'

/**
 * Hides tools of the server from the client, and refuses their calls. `deny` wins over `allow`; an empty `allow` allows all.
 * Globs know `*` only and match whole names.
 */
export class ToolFilter implements Step<ClientContext> {
  readonly #rules: { allow: readonly string[]; deny: readonly string[] }
  readonly #exempted = new Set<string>()

  constructor(rules: { allow: readonly string[]; deny: readonly string[] }) {
    this.#rules = rules
  }

  get hasRules(): boolean {
    return this.#rules.allow.length + this.#rules.deny.length > 0
  }

  send(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { envelope } = message
    if (envelope.kind !== 'request') return next(message, context)
    if (envelope.method === 'tools/list')
      return next(
        message,
        intercepted(context, (answer, deliver) => deliver(this.#filtered(answer))),
      )
    const name = envelope.method === 'tools/call' ? paramsOf(message)?.['name'] : undefined
    const reason = typeof name === 'string' ? this.reasonAgainst(name) : undefined
    if (reason === undefined) return next(message, context)
    return refuse(context, envelope.id, jsonRpcCode.invalidParams, reason)
  }

  /** Returns why a tool may not be used, with the flag that forbids it; undefined if it may. */
  reasonAgainst(toolName: string): string | undefined {
    const { allow, deny } = this.#rules
    if (this.#exempted.has(toolName)) return undefined
    const quoted = JSON.stringify(toolName)
    if (deny.some((glob) => matchesGlob(glob, toolName)))
      return `The tool ${quoted} is hidden by --ignore-tool.`
    if (allow.length === 0 || allow.some((glob) => matchesGlob(glob, toolName))) return undefined
    return `The tool ${quoted} is not among those of --allow-tool.`
  }

  /** Allows a tool of the bridge itself. */
  exempt(toolName: string): void {
    this.#exempted.add(toolName)
  }

  #filtered(answer: WireMessage): WireMessage {
    if (isErrorResponse(answer)) return answer
    return toolPage(answer)?.filtered((tool) => this.#isUsable(tool)) ?? answer
  }

  #isUsable(tool: unknown): boolean {
    const name = isJsonObject(tool) ? tool['name'] : undefined
    return typeof name !== 'string' || this.reasonAgainst(name) === undefined
  }
}
