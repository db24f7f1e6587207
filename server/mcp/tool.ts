import type { CallToolResult, Tool, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod/v4'
import type { Caller } from '../core/caller.ts'

/** What a tool has in hand while it runs. */
export interface ToolContext {
  caller: Caller
  /** Aborted when the client cancels or goes away. */
  signal: AbortSignal
}

/** One tool of the catalogue. `call` gets arguments that its schema has accepted. */
export interface ToolDefinition {
  listing: Tool
  call(input: unknown, context: ToolContext): Promise<CallToolResult>
}

/** Input of {@link defineTool}. */
export interface ToolSpecification<Schema extends z.ZodObject> {
  name: string
  title: string
  description: string
  input: Schema
  annotations: ToolAnnotations
  call(input: z.output<Schema>, context: ToolContext): Promise<CallToolResult>
}

/** Ties a tool to its input schema. Arguments that do not fit are answered as a tool error that names each fault. */
export function defineTool<Schema extends z.ZodObject>(
  specification: ToolSpecification<Schema>,
): ToolDefinition {
  const { name, title, description, input, annotations } = specification
  const inputSchema = z.toJSONSchema(input, { io: 'input' }) as Tool['inputSchema']
  return {
    listing: { name, title, description, inputSchema, annotations },
    async call(given, context) {
      const parsed = input.safeParse(given ?? {})
      return parsed.success
        ? specification.call(parsed.data, context)
        : toolError(`The arguments do not fit ${name}: ${z.prettifyError(parsed.error)}`)
    },
  }
}

/** A result of one text. */
export function textResult(text: string, structuredContent?: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text }], ...(structuredContent && { structuredContent }) }
}

/** A result that tells the model what went wrong and what to do next. */
export function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}
