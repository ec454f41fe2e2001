/*-------------------------------------------------------------------------
 *
 * tournament.h
 *	  A tournament tree of losers, as a template (see lib/sort_template.h).
 *
 * Each inner node stores the loser of its match (Knuth, volume 3, 5.4.1).  So
 * replacing the winner costs one comparison per level, along one path.  With
 * four competitors, the leaves are nodes 4 to 7 and the inner nodes are 1 to 3.
 * The caller may store the winner in node 0:
 *
 *					   0: winner
 *					   1: loser of the final
 *			  2: loser				  3: loser
 *		4: first	5: second	6: third	7: fourth	(not stored)
 *
 * Before including this file, define
 *
 *		TT_NODE					an assignable type for nodes
 *		TT_ARG					type of 'arg', which the macros get
 *		TT_LEAF(i, arg)			node of competitor i at its current tuple
 *		TT_BEFORE(a, b, arg)	true if *a comes out before *b
 *
 * The template then defines, for n competitors and a tree of n nodes,
 *
 *		tournament_play(tree, n, 1, arg)				the first winner
 *		tournament_replay(tree, n, i, node, arg)		the next winner;
 *				'node' is the new node of the last winner, competitor i
 *
 * merge.c has a replay function of its own, without branches.
 *
 *-------------------------------------------------------------------------
 */

/* Play the matches below an inner node.  Returns the winner. */
static TT_NODE
tournament_play(TT_NODE * tree, int n, int node, TT_ARG * arg)
{
	TT_NODE		left;
	TT_NODE		right;

	if (node >= n)
		return TT_LEAF(node - n, arg);
	left = tournament_play(tree, n, 2 * node, arg);
	right = tournament_play(tree, n, 2 * node + 1, arg);
	if (TT_BEFORE(&left, &right, arg))
	{
		tree[node] = right;
		return left;
	}
	tree[node] = left;
	return right;
}

/* Replay the matches on the path of the last winner. */
static inline TT_NODE
tournament_replay(TT_NODE * tree, int n, int i, TT_NODE winner, TT_ARG * arg)
{
	for (int node = (i + n) / 2; node > 0; node /= 2)
	{
		if (TT_BEFORE(&tree[node], &winner, arg))
		{
			TT_NODE		loser = winner;

			winner = tree[node];
			tree[node] = loser;
		}
	}
	return winner;
}

#undef TT_NODE
#undef TT_ARG
#undef TT_LEAF
#undef TT_BEFORE
