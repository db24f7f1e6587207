import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcErrorObject } from '@drawbridge/shared/mcp/json-rpc.ts'
import { decodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import { mcpErrorCode, mcpHeader, nameParameters } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import {
  type HeaderParameter,
  headerParameterText,
  headerParameterValue,
} from '@drawbridge/shared/mcp/x-mcp-header.ts'

/** A header that disagrees with the body. `header` is its value, or its name. */
export interface HeaderMismatch {
  header: string
  body: string
}

/** The error for headers that contradict the body. */
export function headerMismatchError(mismatch: HeaderMismatch): JsonRpcErrorObject {
  const message = `Bad Request: the request headers and body disagree: ${mismatch.body}`
  return { code: mcpErrorCode.headerMismatch, message, data: { mismatch } }
}

/** The {@link nameParameters}, and the ones of the tasks extension. */
const allNameParameters: ReadonlyMap<string, string> = new Map([
  ...nameParameters,
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** Returns the required `Mcp-Name` of a message: the name, URI or id in its parameters. Undefined when it has none. */
export function namedBy({
  method,
  params,
}: {
  method: string
  params?: JsonObject | undefined
}): string | undefined {
  const parameter = allNameParameters.get(method)
  const name = parameter === undefined ? undefined : params?.[parameter]
  return typeof name === 'string' ? name : undefined
}

/**
 * The first standard header of a 2026-07-28 request that is missing, or wrong in the case of `Mcp-Name`. The caller checks that
 * `Mcp-Method` and `MCP-Protocol-Version`, if present, agree with the body.
 */
export function standardHeaderMismatch(
  { method, params }: { method: string; params?: JsonObject | undefined },
  revision: string,
  headers: Headers,
): HeaderMismatch | undefined {
  if (!headers.has(mcpHeader.protocolVersion)) {
    const claim = `the body envelope names protocol version ${revision}`
    return missing(`${claim} but the required MCP-Protocol-Version header is absent`)
  }
  if (!headers.has(mcpHeader.method)) {
    return missing(`the body names method ${method} but the required Mcp-Method header is absent`)
  }
  const parameter = allNameParameters.get(method)
  if (parameter === undefined) return undefined
  const name = params?.[parameter]
  const given = headers.get(mcpHeader.name)
  if (given === null) {
    if (typeof name !== 'string') return undefined
    return missing(
      `the body carries params.${parameter}="${name}" but the required Mcp-Name header is absent`,
    )
  }
  const decoded = decodeMcpHeaderValue(given)
  if (decoded === undefined) {
    return { header: given, body: 'the Mcp-Name header carries an invalid Base64 sentinel value' }
  }
  return typeof name === 'string' && decoded !== name
    ? {
        header: given,
        body: `the body carries params.${parameter}="${name}" but the Mcp-Name header names "${decoded}"`,
      }
    : undefined
}

function missing(body: string): HeaderMismatch {
  return { header: '(missing)', body }
}

/**
 * The first header of `parameters` that disagrees with the arguments. A header is required when its argument is present, and
 * ignored when the argument is absent or null. Integers are compared as numbers.
 */
export function parameterHeaderMismatch(
  parameters: readonly HeaderParameter[],
  input: unknown,
  headers: Headers,
): HeaderMismatch | undefined {
  for (const parameter of parameters) {
    const body = disagreement(parameter, input, headers.get(parameter.header))
    if (body !== undefined) return { header: parameter.header, body }
  }
  return undefined
}

function disagreement(parameter: HeaderParameter, input: unknown, given: string | null): string | undefined {
  const { header, path, type } = parameter
  // A value that no header can carry has no header; the schema refuses it.
  const expected = headerParameterText(input, parameter)
  if (expected === undefined) return undefined
  const value = headerParameterValue(input, parameter)
  const argument = `${path.join('.')}=${JSON.stringify(value)}`
  if (given === null) return `the body carries ${argument} but the ${header} header is absent`
  const decoded = decodeMcpHeaderValue(given)
  if (decoded === undefined) return `the ${header} header carries an invalid Base64 sentinel value`
  const isInteger = type === 'integer' && typeof value === 'number'
  const agrees =
    isInteger && /^-?\d+(\.\d+)?$/.test(decoded) ? Number(decoded) === value : decoded === expected
  return agrees
    ? undefined
    : `the ${header} header decodes to ${JSON.stringify(decoded)} but the body carries ${argument}`
}
