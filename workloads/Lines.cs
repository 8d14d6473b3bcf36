// Burns CPU on known lines of source, for tests of line numbers: a line that ends with a comment of one word in angle
// brackets is one that a test asks for.
//
//   Lines [SECONDS]       runs for so long; without a number or with 0, until standard input ends
//
// Says `ready PID` when it begins.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

static class Lines
{
    static volatile bool stop;
    static double sink;

    static int Main(string[] args)
    {
        double seconds = args.Length > 0 ? double.Parse(args[0]) : 0;
        if (seconds <= 0)
        {
            new Thread(StopAtEndOfInput) { Name = "stdin", IsBackground = true }.Start();
        }
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Stopwatch watch = Stopwatch.StartNew();
        while (!stop && (seconds <= 0 || watch.Elapsed.TotalSeconds < seconds))
        {
            sink += Busy(100000); // <call>
            sink += Generated(10);
            foreach (int item in Items(10))
            {
                sink += item;
            }
        }
        return 0;
    }

    static void StopAtEndOfInput()
    {
        while (Console.In.Read() >= 0)
        {
        }
        stop = true;
    }

    // Nearly all time is spent in the division.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Busy(int rounds)
    { // <busy-begin>
        double sum = 1; // <busy-start>
        for (int i = 1; i < rounds; i++) // <busy-loop>
        {
            sum = i / (sum + Math.Sqrt(sum)); // <busy-divide>
        }
        return sum; // <busy-return>
    } // <busy-end>

    // Code without source, and code of another file.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Generated(int seed)
    {
        int value = seed; // <generated-start>
#line hidden
        value *= 3;
        value ^= seed >> 2;
#line 7 "/_/Other.cs"
        value += 5;
#line default
        return value; // <generated-return>
    }

    // A class of the compiler's, whose MoveNext has these lines.
    static IEnumerable<int> Items(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return i * i; // <yield>
        }
    }
}
