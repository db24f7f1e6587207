import { parseExactJson, plainNumber } from '@drawbridge/shared/exact-json.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  isNestedDeeply,
  jsonRpcCode,
  type JsonRpcErrorObject,
  type JsonRpcMessage,
  parseJsonRpcMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'

/** A message in a line of a process. */
export interface OutputMessage {
  /** Undefined for a line without a message. The id of an answer is the id that we gave a request, or null if it has none of ours. */
  message: JsonRpcMessage | undefined
  /** True if the line belongs in the log: it has no message, or its answer ends a call with an error of ours. */
  isFaulty: boolean
  /** True if the line is not JSON: it may only log an answer that follows. */
  isGuess?: boolean
}

const noMessage: OutputMessage = { message: undefined, isFaulty: true }

/** The error for an answer that cannot be read. */
export const unreadable: JsonRpcErrorObject = {
  code: jsonRpcCode.internalError,
  message: 'The server sent an answer that cannot be read. Tell the operator of the server.',
}

/**
 * Reads the messages in a line: one, or a whole batch. Accepts answers that are not quite JSON-RPC where their meaning is clear:
 * ids as text, null for a member that is not there, no version, errors of another form. An answer that names a request but cannot be
 * read becomes an error, so that its call ends. Numbers are kept as they came.
 */
export function readOutput(line: string): OutputMessage[] {
  try {
    if (isNestedDeeply({ text: line })) throw new RangeError('The line is nested too deeply.')
    const value = parseExactJson(line)
    const all: unknown[] = Array.isArray(value) ? value.flat(Infinity) : [value]
    return all.length === 0 ? [noMessage] : all.map((each) => readValue(each, line))
  } catch {
    const ids = answeredIds(line, line)
    return ids.length === 0 ? [noMessage] : ids.map((id) => Object.assign(failed(id), { isGuess: true }))
  }
}

function readValue(given: unknown, line: string): OutputMessage {
  if (!isJsonObject(given)) return noMessage
  const isAnswer = 'result' in given || 'error' in given
  if (!isAnswer && 'method' in given) return readCall(given)
  // Some programs log JSON.
  if (given['jsonrpc'] !== '2.0' && !(isAnswer && 'id' in given)) return noMessage
  const id = requestId(given['id']) ?? answeredIds(line, line)[0] ?? null
  return id === null ? failed(null) : readAnswer(id, given)
}

function readCall(given: JsonObject): OutputMessage {
  const { params, ...others } = given
  const parsed = parseJsonRpcMessage(params === null ? others : given)
  return parsed.kind === 'invalid' ? noMessage : { message: parsed.message, isFaulty: false }
}

function readAnswer(id: number, value: JsonObject): OutputMessage {
  const { result, error } = value
  if (error !== undefined && error !== null)
    return { message: { jsonrpc: '2.0', id, error: readError(error) }, isFaulty: !isJsonObject(error) }
  if (isJsonObject(result)) return { message: { jsonrpc: '2.0', id, result }, isFaulty: false }
  return failed(id)
}

function readError(error: unknown): JsonRpcErrorObject {
  const { code, message, data }: JsonObject = isJsonObject(error) ? error : { message: error }
  const number = typeof code === 'string' ? Number(code) : plainNumber(code)
  return {
    code: Number.isSafeInteger(number) ? (number as number) : jsonRpcCode.internalError,
    message: typeof message === 'string' ? message : 'The server reported an error without a message.',
    ...(data !== undefined && { data }),
  }
}

function failed(id: number | null): OutputMessage {
  return { message: { jsonrpc: '2.0', id, error: unreadable }, isFaulty: true }
}

/** The id or progress token of a request of this server, which are positive integers: some programs make a text or a float of it. */
export function requestId(id: unknown): number | undefined {
  const number = typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : plainNumber(id)
  return typeof number === 'number' ? number : undefined
}

const answerBehindId =
  /(?:^[^{]*|\}\s*)\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*"?(\d+)(?![\w-]|\.0*[1-9]|"?\s*,\s*"method")|"id"\s*:\s*"?(\d+)"?\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)")/g
const beginsWithAnswer = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"/
const endsWithId = /,\s*"id"\s*:\s*"?(\d+)"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

/** Matches the beginning of a message that calls nothing, or a line of one that is printed over several. */
const beginsWithVersion = /^[^{]*\{?[^{]*"jsonrpc"\s*:(?!.*"method"\s*:\s*")/s

/**
 * The requests that the answers in a line name, by its first and its last characters; null for an answer that names none. Several answers
 * may be in one line, something else before the first, and zero bytes or single quotes in them, as other encodings and languages have them.
 */
export function answeredIds(head: string, tail: string): (number | null)[] {
  const [start, end] = [head, tail].map((text) => text.replaceAll('\0', '').replaceAll("'", '"')) as [
    string,
    string,
  ]
  const ids = [...start.matchAll(answerBehindId)].map(([, first, second]) => first ?? second)
  if (beginsWithAnswer.test(start)) ids.push(endsWithId.exec(end)?.[1])
  const named = ids.filter((id) => id !== undefined).map(Number)
  if (named.length > 0) return named
  const [envelope = ''] = start.slice(0, 256).split(/"(?:result|error)"/)
  return beginsWithAnswer.test(start) || beginsWithVersion.test(envelope) ? [null] : []
}
