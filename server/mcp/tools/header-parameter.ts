import { decodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import {
  type HeaderParameter,
  headerParameterText,
  headerParameterValue,
} from '@drawbridge/shared/mcp/x-mcp-header.ts'

/**
 * Whether a header of `parameters` does not say what the arguments say. A header is needed when its argument is there; one
 * whose argument is absent or null is ignored. Integers are compared as numbers.
 */
export function headerMismatch(
  parameters: readonly HeaderParameter[],
  input: unknown,
  headers: Headers,
): boolean {
  return parameters.some((parameter) => {
    // Nothing is expected of what no header can carry: the schema will refuse it.
    const expected = headerParameterText(input, parameter)
    if (expected === undefined) return false
    const given = headers.get(parameter.header)
    const decoded = given === null ? undefined : decodeMcpHeaderValue(given)
    if (decoded === undefined) return true
    const value = headerParameterValue(input, parameter)
    const isInteger = parameter.type === 'integer' && typeof value === 'number'
    return isInteger && /^-?\d+(\.\d+)?$/.test(decoded) ? Number(decoded) !== value : decoded !== expected
  })
}
