// A small web shop that is busy in every way a profiler should tell apart: recursion, LINQ, sorting, strings and garbage,
// locks, calls into native code and back, files, sockets and exceptions. Each kind has a thread of its own, named after it.
//
//   Varied [SECONDS]      runs for so long, or until it is ended; prints `ready PID` once every thread is at work
//
// C# 7 against the plain mscorlib, so that it runs on every .NET from 3.1 on.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Shop
{
    // Work that is done again and again until the shop closes.
    abstract class Department
    {
        public readonly string Name;

        protected Department(string name)
        {
            Name = name;
        }

        // One piece of work of a few milliseconds.
        public abstract void Serve();
    }

    static class Program
    {
        static volatile bool closed;

        static int Main(string[] args)
        {
            double seconds = args.Length > 0 ? double.Parse(args[0]) : double.PositiveInfinity;
            var ledger = new Accounts.Ledger();
            var departments = new List<Department>
            {
                new Routing.RoutePlanner(),
                new Catalog.SearchIndex(),
                new Pricing.PriceList(),
                new Invoices.InvoicePrinter(),
                new Accounts.Cashier("cashier-1", ledger),
                new Accounts.Cashier("cashier-2", ledger),
                new Warehouse.StockArchive(),
                new Network.OrderDesk(),
                new Support.ComplaintDesk(),
            };
            var started = new CountdownEvent(departments.Count);
            foreach (Department department in departments)
            {
                var thread = new Thread(() => Work(department, started)) { Name = department.Name, IsBackground = true };
                thread.Start();
            }
            started.Wait();
            Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
            Console.Out.Flush();

            var clock = Stopwatch.StartNew();
            while (clock.Elapsed.TotalSeconds < seconds)
            {
                Thread.Sleep(50);
            }
            closed = true;
            return 0;
        }

        static void Work(Department department, CountdownEvent started)
        {
            department.Serve();
            started.Signal();
            while (!closed)
            {
                department.Serve();
                // A shop has quiet moments; without them nine threads would starve each other on a small machine.
                Thread.Sleep(1);
            }
        }
    }
}

namespace Shop.Routing
{
    // Deep recursion: the shortest tour of a few stops, by trying them all.
    sealed class RoutePlanner : Department
    {
        const int Stops = 8;
        readonly int[,] distance = new int[Stops, Stops];
        int shortest;

        public RoutePlanner() : base("routing")
        {
            var random = new Random(7);
            for (int from = 0; from < Stops; from++)
            {
                for (int to = 0; to < Stops; to++)
                {
                    distance[from, to] = random.Next(1, 100);
                }
            }
        }

        public override void Serve()
        {
            shortest = int.MaxValue;
            VisitFrom(0, 1, 0);
        }

        void VisitFrom(int stop, int visited, int length)
        {
            if (visited == (1 << Stops) - 1)
            {
                shortest = Math.Min(shortest, length + distance[stop, 0]);
                return;
            }
            for (int next = 1; next < Stops; next++)
            {
                if ((visited & (1 << next)) == 0)
                {
                    VisitFrom(next, visited | (1 << next), length + distance[stop, next]);
                }
            }
        }
    }
}

namespace Shop.Catalog
{
    sealed class Product
    {
        public int Number;
        public string Title;
        public int Price;
    }

    // LINQ over a list of products: filter, group, order.
    sealed class SearchIndex : Department
    {
        readonly List<Product> products = new List<Product>();
        int query;

        public SearchIndex() : base("search")
        {
            var random = new Random(11);
            for (int number = 0; number < 4000; number++)
            {
                products.Add(new Product { Number = number, Title = "product " + random.Next(500), Price = random.Next(1000) });
            }
        }

        public override void Serve()
        {
            query = (query + 37) % 1000;
            CheapestPerTitle(query);
        }

        List<Product> CheapestPerTitle(int above)
        {
            return products
                .Where(product => product.Price > above)
                .GroupBy(product => product.Title)
                .Select(titles => titles.OrderBy(product => product.Price).First())
                .OrderByDescending(product => product.Price)
                .Take(20)
                .ToList();
        }
    }
}

namespace Shop.Pricing
{
    // Sorting twice: in managed code, and by the C library's qsort with a comparison in managed code.
    sealed unsafe class PriceList : Department
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        delegate int Comparison(int* left, int* right);

        [DllImport("libc", EntryPoint = "qsort")]
        static extern void NativeSort(int* items, UIntPtr count, UIntPtr size, Comparison comparison);

        static readonly Comparison ByPrice = ComparePrices;
        readonly int[] prices = new int[6000];
        readonly int[] work = new int[6000];

        public PriceList() : base("pricing")
        {
            var random = new Random(13);
            for (int i = 0; i < prices.Length; i++)
            {
                prices[i] = random.Next();
            }
        }

        public override void Serve()
        {
            SortManaged();
            SortNative();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void SortManaged()
        {
            Array.Copy(prices, work, prices.Length);
            Array.Sort(work, (left, right) => left.CompareTo(right));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void SortNative()
        {
            Array.Copy(prices, work, prices.Length);
            fixed (int* items = work)
            {
                NativeSort(items, (UIntPtr)work.Length, (UIntPtr)sizeof(int), ByPrice);
            }
        }

        static int ComparePrices(int* left, int* right)
        {
            return *left < *right ? -1 : *left > *right ? 1 : 0;
        }
    }
}

namespace Shop.Invoices
{
    // Strings: builds text line by line and throws it away, so that the collector has work too.
    sealed class InvoicePrinter : Department
    {
        readonly List<string> recent = new List<string>();
        int number;

        public InvoicePrinter() : base("invoices")
        {
        }

        public override void Serve()
        {
            for (int i = 0; i < 20; i++)
            {
                recent.Add(Print(number++));
            }
            // Some invoices live long enough to reach the older generations.
            if (recent.Count > 400)
            {
                recent.RemoveRange(0, 200);
            }
        }

        static string Print(int number)
        {
            var text = new StringBuilder();
            text.Append("Invoice ").Append(number).AppendLine();
            for (int line = 1; line <= 40; line++)
            {
                text.AppendLine(string.Format("{0,4}  {1,-20} {2,8:F2}", line, "article " + (number * line % 977), line * 1.25));
            }
            return text.ToString();
        }
    }
}

namespace Shop.Accounts
{
    // One book, two cashiers: they wait for each other.
    sealed class Ledger
    {
        readonly object door = new object();
        readonly Dictionary<int, long> balances = new Dictionary<int, long>();

        public void Post(int first)
        {
            lock (door)
            {
                for (int i = 0; i < 20000; i++)
                {
                    int account = (first + i) % 997;
                    long balance;
                    balances.TryGetValue(account, out balance);
                    balances[account] = balance + i;
                }
            }
        }
    }

    sealed class Cashier : Department
    {
        readonly Ledger ledger;
        int receipts;

        public Cashier(string name, Ledger ledger) : base(name)
        {
            this.ledger = ledger;
        }

        public override void Serve()
        {
            for (int i = 0; i < 5; i++)
            {
                ledger.Post(receipts++);
            }
        }
    }
}

namespace Shop.Warehouse
{
    // Files: writes a list, reads it back, removes it.
    sealed class StockArchive : Department
    {
        readonly byte[] page = new byte[64 * 1024];

        public StockArchive() : base("warehouse")
        {
            new Random(17).NextBytes(page);
        }

        public override void Serve()
        {
            string path = Path.GetTempFileName();
            try
            {
                Write(path);
                Read(path);
            }
            finally
            {
                File.Delete(path);
            }
        }

        void Write(string path)
        {
            using (FileStream file = File.OpenWrite(path))
            {
                for (int i = 0; i < 16; i++)
                {
                    file.Write(page, 0, page.Length);
                }
            }
        }

        int Read(string path)
        {
            int sum = 0;
            var buffer = new byte[4096];
            using (FileStream file = File.OpenRead(path))
            {
                int count;
                while ((count = file.Read(buffer, 0, buffer.Length)) > 0)
                {
                    sum += buffer[count - 1];
                }
            }
            return sum;
        }
    }
}

namespace Shop.Network
{
    // Sockets: one end asks, a helper thread at the other end of the loopback answers.
    sealed class OrderDesk : Department
    {
        readonly Socket customer;
        readonly byte[] order = new byte[1024];

        public OrderDesk() : base("orders")
        {
            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            var clerk = new Thread(() => Answer(listener.AcceptSocket())) { Name = "order-clerk", IsBackground = true };
            clerk.Start();
            customer = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            customer.Connect(listener.LocalEndpoint);
        }

        public override void Serve()
        {
            for (int i = 0; i < 50; i++)
            {
                customer.Send(order);
                Receive(customer, order);
            }
        }

        static void Answer(Socket socket)
        {
            socket.NoDelay = true;
            var buffer = new byte[1024];
            while (Receive(socket, buffer))
            {
                socket.Send(buffer);
            }
        }

        static bool Receive(Socket socket, byte[] buffer)
        {
            int filled = 0;
            while (filled < buffer.Length)
            {
                int count = socket.Receive(buffer, filled, buffer.Length - filled, SocketFlags.None);
                if (count == 0)
                {
                    return false;
                }
                filled += count;
            }
            return true;
        }
    }
}

namespace Shop.Support
{
    sealed class ComplaintException : Exception
    {
        public ComplaintException(string message) : base(message)
        {
        }
    }

    // Exceptions: thrown some frames deep, caught at the desk.
    sealed class ComplaintDesk : Department
    {
        int complaints;

        public ComplaintDesk() : base("support")
        {
        }

        public override void Serve()
        {
            for (int i = 0; i < 10; i++)
            {
                try
                {
                    Escalate(4);
                }
                catch (ComplaintException)
                {
                    complaints++;
                }
            }
            Thread.Sleep(5);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        void Escalate(int levels)
        {
            if (levels == 0)
            {
                throw new ComplaintException("complaint " + complaints);
            }
            Escalate(levels - 1);
        }
    }
}
