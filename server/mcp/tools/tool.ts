import { ServiceCallerError } from '../../core/tokens/caller.ts'
import {
  type CallToolResult,
  isCallToolResult,
  specTypeSchemas,
  type Tool,
} from '@modelcontextprotocol/server'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type HeaderParameter, readHeaderParameters } from '@drawbridge/shared/mcp/x-mcp-header.ts'
import type { PublicToolContext, ToolAnswer, ToolContext, ToolDeclaration } from './tool-module.ts'
import { textResult, toolError, toolFailure } from './tool-result.ts'
import { emptySchema, type PreparedSchema, prepareSchema } from './tool-schema.ts'

/** One plain tool, ready to serve. */
export interface ToolDefinition {
  /** Its entry in `tools/list`. */
  listing: Tool
  /** A scope that callers need in addition to the one for all tools. */
  scope: string | undefined
  /** True if anyone may call it without signing in. */
  isPublic: boolean
  /** Arguments that clients of 2026-07-28 repeat in headers. */
  headerParameters: readonly HeaderParameter[]
  /**
   * Checks `input` against the schema, runs the tool, and checks its answer. An error that the tool throws is reported and
   * becomes a tool error; never rejects. Only a public tool gets a context without a user: the endpoints see to that.
   */
  call(input: unknown, context: PublicToolContext): Promise<CallToolResult>
}

/** Called when a tool throws or returns an invalid result. `error` is for the log, never for the client. */
export type ReportToolFailure = (tool: string, error: unknown) => void

/** Prepares a plain tool. Throws an `Error` whose message names the member that is wrong. Name and scope are not checked. */
export function prepareTool(declaration: ToolDeclaration, report: ReportToolFailure): ToolDefinition {
  const { name, title, description, annotations, icons, scope, _meta } = declaration
  const input = atMember('inputSchema', () => prepareSchema(declaration.inputSchema ?? emptySchema, 'input'))
  const output = atMember('outputSchema', () =>
    declaration.outputSchema === undefined ? undefined : prepareSchema(declaration.outputSchema, 'output'),
  )
  const headers = readHeaderParameters(input.json)
  if (headers.kind === 'faulty') throw new TypeError(`inputSchema: ${headers.fault}`)
  return {
    listing: {
      name,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      inputSchema: input.json,
      ...(annotations && { annotations }),
      ...(icons && { icons }),
      ...(output && { outputSchema: output.json }),
      ...(_meta !== undefined && { _meta }),
    },
    scope,
    isPublic: declaration.public === true,
    headerParameters: headers.parameters,
    async call(given, context) {
      try {
        const reading = await input.check(given ?? {})
        if (reading.kind === 'unfit') return toolError(`The arguments do not fit ${name}: ${reading.reason}`)
        const answer = await declaration.call(reading.value, context as ToolContext)
        return await checkAnswer(answer, output)
      } catch (error) {
        if (error instanceof ServiceCallerError) return toolError(error.message)
        // After an abort the error is expected, and there is no client to answer.
        if (!context.signal.aborted) report(name, error)
        return toolFailure()
      }
    },
  }
}

/** The faults for which clients would reject a listing, member by member; empty if it is valid. */
export function listingFaults(listing: Tool): string[] {
  const { issues = [] } = specTypeSchemas.Tool['~standard'].validate(listing)
  return issues.map(({ path = [], message }) => {
    const keys = path.map((key) => String(typeof key === 'object' ? key.key : key))
    return `${keys.join('.')}: ${message}.`
  })
}

function atMember<T>(member: string, prepare: () => T): T {
  try {
    return prepare()
  } catch (error) {
    throw new TypeError(`${member}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** The result for the client. Throws if the answer of the tool is invalid. */
async function checkAnswer(answer: ToolAnswer, output: PreparedSchema | undefined): Promise<CallToolResult> {
  const result = toResult(answer)
  if (!output || result.isError === true) return result
  const checked = await output.check(result.structuredContent)
  if (checked.kind === 'fits') return { ...result, structuredContent: checked.value }
  throw new TypeError(`The structuredContent does not fit outputSchema: ${checked.reason}`)
}

function toResult(answer: ToolAnswer): CallToolResult {
  if (typeof answer === 'string') return textResult(answer)
  // Modules may be plain JavaScript: the type is not enforced.
  if (!isJsonObject(answer)) throw new TypeError(invalidAnswer)
  const { structuredContent, content } = answer as Record<string, unknown>
  // Earlier revisions allow objects only.
  if (structuredContent !== undefined && !isJsonObject(structuredContent)) throw new TypeError(invalidAnswer)
  const result =
    structuredContent !== undefined && content === undefined
      ? { ...answer, ...textResult(JSON.stringify(structuredContent)) }
      : answer
  if (isTextResult(result) || isCallToolResult(result)) return result
  throw new TypeError(invalidAnswer)
}

const invalidAnswer =
  'A tool must return a text, or an object with content or structuredContent as MCP defines them.'

/** Returns whether a result consists of texts. Most do, and checking the whole schema takes ten times as long. */
function isTextResult(result: unknown): result is CallToolResult {
  const { content, structuredContent, isError, ...rest } = result as Record<string, unknown>
  return (
    Array.isArray(content) &&
    content.every((block) => isTextBlock(block)) &&
    (structuredContent === undefined || isJsonObject(structuredContent)) &&
    (isError === undefined || typeof isError === 'boolean') &&
    Object.keys(rest).length === 0
  )
}

function isTextBlock(block: unknown): boolean {
  if (!isJsonObject(block)) return false
  return block['type'] === 'text' && typeof block['text'] === 'string' && Object.keys(block).length === 2
}
