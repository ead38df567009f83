/* Programs: nodes turned into instructions, run over blocks of points.
 *
 * Operands come first, output by output. Each node becomes one instruction, and its register is
 * free again after its last use, so that the registers of a block fit the core's first cache.
 * Powers are products: a^n = (a^(n/2))^2 for even n, a^(n-1) a for odd n, 1/a^|n| for n < 0. A
 * product that only one sum or difference uses is part of that instruction (rounded as before).
 * What does not depend on x (numbers, t, sin(t), ...) is a scalar, computed once per run. Where t
 * occurs a second program is made, for points that have a time each: there t is a column.
 * Must reproduce: x - x^3 is a load, x^2 = x x, x - x^2 x and a store, in two registers. */
#include "base/memory.h"
#include "formula/program_kernels.h"

#include <string.h>

enum { LONGEST_BLOCK = 256, SHORTEST_BLOCK = 16 };

/* ---- the order of nodes ---- */

/* A compiler's working data; arrays per node grow with the graph while powers are split. */
typedef struct compiler {
    hb_graph *graph;
    hb_program *program;
    int *place; /* of a node: 0 not yet, v+1 the value it becomes, -1-s scalar s */
    int n_places;
    hb_node *stack;
    int n_stack, stack_capacity;
    int scalar_capacity;
    int n_values;
    int time_is_column;
} compiler;

static hb_status program_push(compiler *c, hb_node node)
{
    HB_TRY(HB_GROW(c->graph->context, c->stack, c->n_stack, c->stack_capacity));
    c->stack[c->n_stack++] = node;
    return HB_OK;
}

/* places[] for all nodes there are now; new ones have none. */
static hb_status cover_nodes(compiler *c)
{
    if (c->n_places >= c->graph->count) return HB_OK;
    int *place;
    HB_TRY(HB_NEW_CLEARED(c->graph->context, place, 2 * (size_t)c->graph->count));
    if (c->n_places) memcpy(place, c->place, (size_t)c->n_places * sizeof(int));
    hb_release(c->graph->context, c->place);
    c->place = place;
    c->n_places = 2 * c->graph->count;
    return HB_OK;
}

/* What evaluates a node: its own operation, or for a power a product or a quotient. */
static hb_status program_lower(hb_graph *graph, hb_node node, hb_operation *op, int *arity,
                               hb_node operand[3])
{
    const hb_graph_node p = graph->nodes[node];
    *op = p.op;
    *arity = hb_graph_operands(&p, operand);
    if (p.op != HB_OP_POWER) return HB_OK;
    *arity = 2;
    *op = p.b < 0 ? HB_OP_DIVIDE : HB_OP_MULTIPLY;
    if (p.b < 0) {
        operand[0] = hb_build_constant(graph, 1);
        operand[1] = p.b == -1 ? p.a : hb_graph_intern(graph, HB_OP_POWER, p.a, -p.b, 0, 0);
    } else {
        const int part = p.b % 2 ? p.b - 1 : p.b / 2;
        operand[0] = part == 1 ? p.a : hb_graph_intern(graph, HB_OP_POWER, p.a, part, 0, 0);
        operand[1] = p.b % 2 ? p.a : operand[0];
    }
    return hb_graph_finish(graph, node, &node);
}

/* ---- instructions ---- */

static hb_status program_append(hb_program *program, int once, hb_instruction in)
{
    hb_instruction **list = once ? &program->once : &program->code;
    int *count = once ? &program->n_once : &program->n_code;
    int *capacity = once ? &program->once_capacity : &program->code_capacity;
    HB_TRY(HB_GROW(program->context, *list, *count, *capacity));
    (*list)[(*count)++] = in;
    return HB_OK;
}

static hb_status new_scalar(compiler *c, double value, int *place)
{
    hb_program *program = c->program;
    HB_TRY(HB_GROW(program->context, program->scalars, program->n_scalars, c->scalar_capacity));
    program->scalars[program->n_scalars] = value;
    *place = -1 - program->n_scalars++;
    return HB_OK;
}

/* Operands as instructions have them: value v >= 0, scalar s as -1-s. */
static int program_reference(const compiler *c, hb_node node)
{
    const int place = c->place[node];
    return place > 0 ? place - 1 : place;
}

static hb_status program_emit(compiler *c, hb_node node, hb_operation op, int arity,
                              const hb_node *operand)
{
    const hb_graph_node *p = &c->graph->nodes[node];
    const int is_scalar = c->time_is_column ? p->depends == 0 : p->depends >> 1 == 0;
    int place;
    if (is_scalar)
        HB_TRY(new_scalar(c, p->value, &place));
    else
        place = ++c->n_values;
    c->place[node] = place;
    if (op == HB_OP_CONSTANT) return HB_OK;
    if (op == HB_OP_VARIABLE && is_scalar) {
        c->program->time = -1 - place;
        return HB_OK;
    }
    hb_instruction in = {.op = (int)op, .out = program_reference(c, node), .a = p->a};
    if (op == HB_OP_MAPPED) in.b = p->b;
    if (arity > 0) in.a = program_reference(c, operand[0]);
    if (arity > 1) in.b = program_reference(c, operand[1]);
    if (arity > 2) in.c = program_reference(c, operand[2]);
    return program_append(c->program, place < 0, in);
}

/* Emits the node on top of the stack, or pushes the operands that it waits for. */
static hb_status program_step(compiler *c)
{
    const hb_node node = c->stack[c->n_stack - 1];
    hb_operation op;
    int arity;
    hb_node operand[3];
    if (c->place[node]) {
        c->n_stack--;
        return HB_OK;
    }
    HB_TRY(program_lower(c->graph, node, &op, &arity, operand));
    HB_TRY(cover_nodes(c));
    const int before = c->n_stack;
    for (int i = arity - 1; i >= 0; i--)
        if (!c->place[operand[i]]) HB_TRY(program_push(c, operand[i]));
    if (c->n_stack > before) return HB_OK;
    c->n_stack--;
    return program_emit(c, node, op, arity, operand);
}

static hb_status emit_output(compiler *c, hb_node node, int column)
{
    HB_TRY(cover_nodes(c));
    HB_TRY(program_push(c, node));
    while (c->n_stack) HB_TRY(program_step(c));
    hb_instruction store = {HB_PROGRAM_STORE, column, program_reference(c, node), 0, 0};
    return program_append(c->program, 0, store);
}

int hb_instruction_operands(const hb_instruction *in)
{
    switch (in->op) {
    case HB_PROGRAM_NOTHING: return 0;
    case HB_PROGRAM_STORE: return 1;
    case HB_PROGRAM_PRODUCT_PLUS:
    case HB_PROGRAM_PRODUCT_MINUS:
    case HB_PROGRAM_MINUS_PRODUCT: return 3;
    default: return hb_operation_arity((hb_operation)in->op);
    }
}

/* ---- products in sums ---- */

static void count_uses(const hb_program *program, int *uses, int *maker)
{
    for (int i = 0; i < program->n_code; i++) {
        const hb_instruction *in = &program->code[i];
        const int use[3] = {in->a, in->b, in->c}, arity = hb_instruction_operands(in);
        for (int k = 0; k < arity; k++)
            if (use[k] >= 0) uses[use[k]]++;
        if (in->op != HB_PROGRAM_STORE) maker[in->out] = i;
    }
}

/* The product that makes the value and serves nothing else, or NULL. */
static hb_instruction *lone_product(hb_program *program, const int *uses, const int *maker,
                                    int value)
{
    if (value < 0 || uses[value] != 1) return NULL;
    hb_instruction *product = &program->code[maker[value]];
    return product->op == HB_OP_MULTIPLY ? product : NULL;
}

/* a b + c, a b - c and c - a b become one instruction each; the factor that may be scalar is a. */
static void program_fuse(hb_program *program, const int *uses, const int *maker)
{
    for (int i = 0; i < program->n_code; i++) {
        hb_instruction *in = &program->code[i];
        if (in->op != HB_OP_ADD && in->op != HB_OP_SUBTRACT) continue;
        hb_instruction *left = lone_product(program, uses, maker, in->a);
        hb_instruction *right = left ? NULL : lone_product(program, uses, maker, in->b);
        hb_instruction *product = left ? left : right;
        if (!product) continue;
        const int sum = in->op == HB_OP_ADD, swap = product->b < 0;
        in->op = sum    ? HB_PROGRAM_PRODUCT_PLUS
                 : left ? HB_PROGRAM_PRODUCT_MINUS
                        : HB_PROGRAM_MINUS_PRODUCT;
        in->c = left ? in->b : in->a;
        in->a = swap ? product->b : product->a;
        in->b = swap ? product->a : product->b;
        product->op = HB_PROGRAM_NOTHING;
    }
    int kept = 0;
    for (int i = 0; i < program->n_code; i++)
        if (program->code[i].op != HB_PROGRAM_NOTHING) program->code[kept++] = program->code[i];
    program->n_code = kept;
}

/* ---- registers ---- */

static void find_last_uses(const hb_program *program, int *last)
{
    for (int i = 0; i < program->n_code; i++) {
        const hb_instruction *in = &program->code[i];
        const int use[3] = {in->a, in->b, in->c}, arity = hb_instruction_operands(in);
        for (int k = 0; k < arity; k++)
            if (use[k] >= 0) last[use[k]] = i;
    }
}

/* Values become registers in one pass: an instruction's operands whose last use it is are free
 * before its result takes a register, since loops may write over what they read. */
static void assign_registers(hb_program *program, const int *last, int *registers, int *unused)
{
    int n_unused = 0;
    for (int i = 0; i < program->n_code; i++) {
        hb_instruction *in = &program->code[i];
        int *use[3] = {&in->a, &in->b, &in->c};
        const int arity = hb_instruction_operands(in);
        for (int k = 0; k < arity; k++) {
            const int value = *use[k];
            if (value < 0) continue;
            *use[k] = registers[value];
            int again = 0; /* a a: one operand twice is set free once */
            for (int m = k + 1; m < arity; m++) again |= *use[m] == value;
            if (last[value] == i && !again) unused[n_unused++] = registers[value];
        }
        if (in->op == HB_PROGRAM_STORE) continue;
        const int reg = n_unused ? unused[--n_unused] : program->n_registers++;
        registers[in->out] = reg;
        in->out = reg;
    }
}

/* last and registers first serve as the number of uses and the maker of each value. */
static hb_status allocate_registers(compiler *c)
{
    hb_program *program = c->program;
    const size_t n = (size_t)c->n_values;
    hb_workspace work;
    int *last, *registers, *unused;
    HB_TRY(HB_WORKSPACE(program->context, &work, HB_ARRAY(last, n), HB_ARRAY(registers, n),
                        HB_ARRAY(unused, n)));
    memset(last, 0, n * sizeof(int));
    count_uses(program, last, registers);
    program_fuse(program, last, registers);
    find_last_uses(program, last);
    assign_registers(program, last, registers, unused);
    hb_workspace_destroy(&work);
    const size_t doubles = (size_t)program->n_registers + (size_t)program->dim +
                           (size_t)program->n_outputs; /* that a point takes */
    program->width = LONGEST_BLOCK;
    while (program->width > SHORTEST_BLOCK && program->width * doubles > HB_PROGRAM_CACHE)
        program->width /= 2;
    return HB_OK;
}

/* ---- compile ---- */

static hb_status program_compile(compiler *c, int n_outputs, const hb_node *nodes)
{
    for (int i = 0; i < n_outputs; i++) HB_TRY(emit_output(c, nodes[i], i));
    return allocate_registers(c);
}

static hb_status program_create(hb_graph *graph, int n_outputs, const hb_node *nodes,
                                int time_is_column, hb_program **out)
{
    hb_program *program;
    *out = NULL;
    HB_TRY(HB_NEW_CLEARED(graph->context, program, 1));
    program->context = graph->context;
    program->dim = graph->dim;
    program->n_outputs = n_outputs;
    program->time = -1;
    compiler c = {.graph = graph, .program = program, .time_is_column = time_is_column};
    hb_status status = hb_graph_copy_tables(graph->context, graph, &program->tables);
    if (status == HB_OK) status = program_compile(&c, n_outputs, nodes);
    hb_release(graph->context, c.place);
    hb_release(graph->context, c.stack);
    if (status == HB_OK)
        *out = program;
    else
        hb_program_destroy(program);
    return status;
}

hb_status hb_program_compile(hb_graph *graph, int n_outputs, const hb_node *nodes, hb_program **out)
{
    HB_TRY(program_create(graph, n_outputs, nodes, 0, out));
    if ((*out)->time < 0) return HB_OK;
    const hb_status status = program_create(graph, n_outputs, nodes, 1, &(*out)->each);
    if (status == HB_OK) return HB_OK;
    hb_program_destroy(*out);
    *out = NULL;
    return status;
}

void hb_program_destroy(hb_program *program)
{
    if (!program) return;
    hb_program_destroy(program->each);
    hb_release(program->context, program->scalars);
    hb_release(program->context, program->tables);
    hb_release(program->context, program->once);
    hb_release(program->context, program->code);
    hb_release(program->context, program);
}
